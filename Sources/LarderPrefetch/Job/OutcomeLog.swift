import Foundation
import Larder
import LarderWorkers

/// Results that cannot be had a second time (failures, what came from the network), for rows that repeat a URL:
/// kept in a temporary file without a name, so that memory does not grow with the manifest.
///
/// Safe from any thread. `append` never blocks; `read` and `flush` may: they belong on a ``BlockingExecutor``.
final class OutcomeLog: Sendable {
    private struct State {
        var descriptor: Int32 = -1
        /// Bytes in the file; what follows is in `pending`.
        var written = 0
        var pending: [UInt8] = []
        var isFlushing = false
        var hasFailed = false
    }

    private let state = Lock(State())
    private let directories: [String]
    /// Records begin at multiples of this.
    private static let unit = 16
    private static let flushSize = 64 << 10
    /// Where no file can be made, this much is kept in memory and the rest is not remembered.
    private static let memoryLimit = 8 << 20

    init(directories: [String] = OutcomeLog.temporaryDirectories) { self.directories = directories }

    deinit { state.withLock { if $0.descriptor >= 0 { close($0.descriptor) } } }

    /// `$TMPDIR`, then the directory that is on a disk, then the usual one.
    static var temporaryDirectories: [String] {
        [ProcessInfo.processInfo.environment["TMPDIR"], "/var/tmp", "/tmp"].compactMap { $0 }
    }

    /// Remembers a result. Gives its place, or nil where it cannot be remembered, and whether `flush` is due.
    func append(_ result: RowResult) -> (place: UInt32?, isFlushDue: Bool) {
        state.withLock { state in
            guard !(state.hasFailed && state.pending.count > Self.memoryLimit),
                let place = UInt32(exactly: (state.written + state.pending.count) / Self.unit),
                place != DuplicateIndex.noPlace
            else { return (nil, false) }
            Self.encode(result, into: &state.pending)
            let isDue = state.pending.count >= Self.flushSize && !state.isFlushing && !state.hasFailed
            if isDue { state.isFlushing = true }
            return (place, isDue)
        }
    }

    /// Writes what waits to the file.
    func flush() {
        let (bytes, offset, known) = state.withLock { ($0.pending, $0.written, $0.descriptor) }
        let descriptor = known >= 0 ? known : makeFile()
        let isWritten = descriptor >= 0 && Self.write(bytes, to: descriptor, at: offset)
        state.withLock { state in
            state.descriptor = descriptor
            state.isFlushing = false
            state.hasFailed = !isWritten
            guard isWritten else { return }
            state.written += bytes.count
            state.pending.removeFirst(bytes.count)
        }
    }

    /// The result at `place`, or nil where it cannot be read.
    func read(_ place: UInt32) -> RowResult? {
        let offset = Int(place) * Self.unit
        let (descriptor, inMemory) = state.withLock { state -> (Int32, [UInt8]?) in
            guard offset >= state.written else { return (state.descriptor, nil) }
            return (-1, Array(state.pending[min(offset - state.written, state.pending.count)...].prefix(64 << 10)))
        }
        if let inMemory { return Self.decode(inMemory) }
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, off_t(offset)) }
        return Self.decode(Array(bytes.prefix(max(0, count))))
    }

    private func makeFile() -> Int32 {
        for directory in directories {
            var template = Array((directory + "/larder-XXXXXX").utf8CString)
            let descriptor = mkstemp(&template)
            guard descriptor >= 0 else { continue }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            unlink(template)
            return descriptor
        }
        return -1
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let count = pwrite(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset + done))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
    }

    // A record: length of the tail (4 bytes), kind (1: 0...2 a source, 3 a failure), length of the code (1),
    // bytes of the image (8), code, tail, padding.

    private static func encode(_ result: RowResult, into bytes: inout [UInt8]) {
        let tail = result.tail.count <= 60_000 ? result.tail : []
        let code = Array((result.code ?? "").utf8.prefix(255))
        withUnsafeBytes(of: UInt32(tail.count).littleEndian) { bytes += $0 }
        if case .success(let source) = result.outcome { bytes.append(source.rawValue) } else { bytes.append(3) }
        bytes.append(UInt8(code.count))
        withUnsafeBytes(of: UInt64(max(0, result.bytes)).littleEndian) { bytes += $0 }
        bytes += code
        bytes += tail
        bytes += repeatElement(0, count: (unit - bytes.count % unit) % unit)
    }

    private static func decode(_ bytes: [UInt8]) -> RowResult? {
        guard bytes.count >= 14 else { return nil }
        func number(_ range: Range<Int>) -> Int { range.reversed().reduce(0) { $0 << 8 | Int(bytes[$1]) } }
        let (tailCount, codeCount) = (number(0..<4), Int(bytes[5]))
        guard bytes.count >= 14 + codeCount + tailCount else { return nil }
        let outcome: RowResult.Outcome
        if let source = RowResult.Source(rawValue: bytes[4]) {
            outcome = .success(source)
        } else {
            outcome = .failure(code: String(decoding: bytes[14..<14 + codeCount], as: UTF8.self))
        }
        return RowResult(
            outcome: outcome, bytes: number(6..<14), tail: Array(bytes[14 + codeCount..<14 + codeCount + tailCount]))
    }
}
