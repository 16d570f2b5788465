import Glibc

/// Reads lines from a descriptor, blocking: for a thread of its own.
///
/// A line that is longer than the limit ends the input; a last line without a newline is dropped, because its
/// writer died while writing it.
struct LineReader: ~Copyable {
    private let descriptor: Int32
    private let maxLength: Int
    private var buffer: [UInt8] = []
    private var start = 0
    private var scanned = 0

    init(descriptor: Int32, maxLength: Int = WorkerLine.maxLength) {
        self.descriptor = descriptor
        self.maxLength = maxLength
    }

    /// The next line without its newline, or nil at the end.
    mutating func next() -> [UInt8]? {
        while true {
            if let end = buffer[scanned...].firstIndex(of: 10) {
                let line = Array(buffer[start..<end])
                start = end + 1
                scanned = start
                return line
            }
            scanned = buffer.count
            guard buffer.count - start <= maxLength else { return nil }
            if start > 0 {
                buffer.removeSubrange(..<start)
                scanned -= start
                start = 0
            }
            let old = buffer.count
            buffer.append(contentsOf: repeatElement(0, count: 64 << 10))
            var count = 0
            repeat {
                count = buffer.withUnsafeMutableBytes { read(descriptor, $0.baseAddress! + old, 64 << 10) }
            } while count < 0 && errno == EINTR
            buffer.removeSubrange((old + max(0, count))...)
            if count <= 0 { return nil }
        }
    }
}
