import Foundation
import Larder

/// The bytes of a response for a reader that blocks: one side puts chunks in, the other blocks for them.
///
/// A list is read as fast as its images are fetched, which may take hours; its server is not kept waiting for that, and
/// a transport that cannot be made to wait fills no memory: what does not fit lies in a file without a name.
final class ChannelSource: ByteSource, @unchecked Sendable {
    // Sendable: every mutable field is touched only while `condition` is locked.
    private let condition = NSCondition()
    private var chunks: [UInt8] = []
    private var end: Result<Void, ManifestError>?
    private var isStopped = false
    /// What came behind the chunks: bytes from `read` to `written`.
    private var spool: (file: SpoolFile, read: Int, written: Int)?
    private let highWater: Int
    private let executor = BlockingExecutor(name: "larder-list", width: 1)

    /// - Parameter highWater: bytes that may wait in memory. 1 MiB by default.
    init(highWater: Int = 1 << 20) { self.highWater = highWater }

    /// Puts bytes in, one call at a time. False once nobody reads any more, or they cannot be kept.
    func put(_ bytes: [UInt8]) async -> Bool {
        let isTaken = condition.withLock {
            // What lies in the file comes first.
            guard spool.map({ $0.read == $0.written }) ?? true, chunks.isEmpty || chunks.count < highWater else {
                return false
            }
            chunks += bytes
            condition.signal()
            return true
        }
        if !isTaken {
            do throws(SpoolFile.Failure) {
                try await executor.perform { [self] in lay(bytes) }.get()
            } catch {
                finish(.unreadable("the list cannot be kept in the directory for temporary files: \(error.reason)"))
                return false
            }
        }
        return condition.withLock { !isStopped }
    }

    private func lay(_ bytes: [UInt8]) -> Result<Void, SpoolFile.Failure> {
        do throws(SpoolFile.Failure) {
            let known = condition.withLock { spool?.file }
            let file = if let known { known } else { try SpoolFile() }
            try file.append(bytes)
            condition.withLock {
                let before = spool ?? (file, 0, 0)
                spool = (file, before.read, before.written + bytes.count)
                condition.signal()
            }
            return .success(())
        } catch {
            return .failure(error)
        }
    }

    /// Nothing more comes.
    func finish(_ error: ManifestError? = nil) {
        condition.withLock {
            if end == nil { end = error.map { .failure($0) } ?? .success(()) }
            condition.broadcast()
        }
    }

    private var hasBytes: Bool { !chunks.isEmpty || spool.map { $0.read < $0.written } ?? false }

    var isReady: Bool { condition.withLock { hasBytes || end != nil || isStopped } }

    func stop() {
        condition.withLock {
            isStopped = true
            condition.broadcast()
        }
    }

    func read(into buffer: inout [UInt8]) throws(ManifestError) {
        condition.lock()
        while !hasBytes, end == nil, !isStopped { condition.wait() }
        let (isStopped, taken, spool, end) = (isStopped, chunks, spool, end)
        chunks = []
        condition.unlock()
        if isStopped { throw .stopped }
        buffer += taken
        guard taken.isEmpty else { return }
        if let spool, spool.read < spool.written {
            do throws(SpoolFile.Failure) {
                let bytes = try spool.file.read(at: spool.read, count: min(spool.written - spool.read, 256 << 10))
                buffer += bytes
                condition.withLock { self.spool?.read += bytes.count }
                return
            } catch {
                throw .unreadable("the list cannot be read from its temporary file: \(error.reason)")
            }
        }
        if case .failure(let error)? = end { throw error }
    }
}
