import Foundation
import Larder

/// The bytes of a response for a reader that blocks: one side puts chunks in and suspends while enough wait, the
/// other blocks for them.
final class ChannelSource: ByteSource, @unchecked Sendable {
    // Sendable: every mutable field is touched only while `condition` is locked.
    private let condition = NSCondition()
    private var chunks: [UInt8] = []
    private var end: Result<Void, ManifestError>?
    private var isStopped = false
    private var writer: Handover<Void>?
    private let highWater: Int

    init(highWater: Int = 1 << 20) { self.highWater = highWater }

    /// Puts bytes in and waits until few enough wait. False once nobody reads any more.
    func put(_ bytes: [UInt8]) async -> Bool {
        await withHandover { continuation in
            let waits = condition.withLock {
                chunks += bytes
                condition.signal()
                guard chunks.count > highWater, !isStopped else { return false }
                writer = continuation
                return true
            }
            if !waits { continuation.resume() }
        }
        return condition.withLock { !isStopped }
    }

    /// Nothing more comes.
    func finish(_ error: ManifestError? = nil) {
        condition.withLock {
            if end == nil { end = error.map { .failure($0) } ?? .success(()) }
            condition.broadcast()
        }
    }

    var isReady: Bool { condition.withLock { !chunks.isEmpty || end != nil || isStopped } }

    func stop() {
        let waiting = condition.withLock {
            isStopped = true
            condition.broadcast()
            defer { writer = nil }
            return writer
        }
        waiting?.resume()
    }

    func read(into buffer: inout [UInt8]) throws(ManifestError) {
        condition.lock()
        while chunks.isEmpty, end == nil, !isStopped { condition.wait() }
        let isStopped = isStopped
        buffer += chunks
        let isEmpty = chunks.isEmpty
        chunks = []
        let waiting = writer
        writer = nil
        let end = end
        condition.unlock()
        waiting?.resume()
        if isStopped { throw .stopped }
        if isEmpty, case .failure(let error)? = end { throw error }
    }
}
