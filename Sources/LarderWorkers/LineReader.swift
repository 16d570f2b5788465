import Glibc

/// Reads lines from a descriptor, blocking: for a thread of its own.
///
/// A line that is longer than the limit ends the input; a last line without a newline is dropped, because its
/// writer died while writing it.
struct LineReader: ~Copyable {
    private static let usualSize = 64 << 10

    private let descriptor: Int32
    private let maxLength: Int
    private var buffer = [UInt8](repeating: 0, count: usualSize)
    /// Bytes at the front of the buffer: a line that has no end yet.
    private var filled = 0

    init(descriptor: Int32, maxLength: Int = WorkerLine.maxLength) {
        self.descriptor = descriptor
        self.maxLength = maxLength
    }

    /// The lines that have come, at least one, without their newlines; nil at the end.
    mutating func next() -> [[UInt8]]? {
        while filled <= maxLength {
            if buffer.count - filled < Self.usualSize / 2 {
                buffer.append(contentsOf: repeatElement(0, count: buffer.count))
            }
            var count = 0
            repeat {
                count = buffer.withUnsafeMutableBytes {
                    read(descriptor, $0.baseAddress! + filled, $0.count - filled)
                }
            } while count < 0 && errno == EINTR
            if count <= 0 { return nil }
            let lines = take(count)
            if !lines.isEmpty { return lines }
        }
        return nil
    }

    /// The lines that `count` new bytes have completed. What is left of them moves to the front.
    private mutating func take(_ count: Int) -> [[UInt8]] {
        let end = filled + count
        var lines: [[UInt8]] = []
        var start = 0
        buffer.withUnsafeMutableBytes { bytes in
            var place = filled
            while place < end, let newline = memchr(bytes.baseAddress! + place, 10, end - place) {
                place = UnsafeRawPointer(newline) - UnsafeRawPointer(bytes.baseAddress!)
                lines.append([UInt8](bytes[start..<place]))
                place += 1
                start = place
            }
            filled = end - start
            if start > 0 { memmove(bytes.baseAddress!, bytes.baseAddress! + start, filled) }
        }
        // A long line does not keep its memory.
        if buffer.count > Self.usualSize, filled < Self.usualSize / 2 {
            buffer = Array(buffer[..<Self.usualSize])
        }
        return lines
    }
}
