import Foundation
import Larder

/// A buffer over a ``ByteSource``: looks ahead, splits lines, counts them. Gzip is found by its first bytes and a
/// byte order mark is skipped. Memory is bounded by the longest line that is allowed.
struct ByteStream: ~Copyable {
    private var source: any ByteSource
    private(set) var buffer: [UInt8] = []
    private(set) var position = 0
    private var isAtEnd = false
    /// Bytes before `buffer`, after decompression.
    private var dropped = 0

    init(_ source: any ByteSource) throws(ManifestError) {
        self.source = source
        while buffer.count < 4, !isAtEnd { try fill() }
        if buffer.starts(with: [0x1F, 0x8B]) {
            self.source = GunzipSource(source, head: buffer)
            buffer = []
            isAtEnd = false
            while buffer.count < 4, !isAtEnd { try fill() }
        }
        if buffer.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        if buffer.starts(with: [0xFE, 0xFF]) || buffer.starts(with: [0xFF, 0xFE]) {
            throw .malformed("it is UTF-16; `iconv -f UTF-16 -t UTF-8` makes it readable", place: "byte 1")
        }
    }

    /// The offset of the next byte in the decompressed manifest, from 1 for people.
    var place: Int { dropped + position + 1 }

    /// Whether the next row needs no waiting for the source.
    var isReady: Bool { isAtEnd || source.isReady }

    var unread: ArraySlice<UInt8> { buffer[position...] }

    /// Reads more behind what is there; false at the end.
    @discardableResult
    mutating func fill() throws(ManifestError) -> Bool {
        guard !isAtEnd else { return false }
        if position > 0 {
            buffer.removeFirst(position)
            dropped += position
            position = 0
        }
        let before = buffer.count
        try source.read(into: &buffer)
        isAtEnd = buffer.count == before
        return !isAtEnd
    }

    /// Reads on until the first line is there, or enough to tell that the manifest is JSON, or very much of it.
    mutating func fillFirstLine() throws(ManifestError) {
        while position + 4096 > buffer.count, find(0x0A, from: position) == nil {
            let first = unread.first { !$0.isBlank }
            if first == UInt8(ascii: "[") || first == UInt8(ascii: "{") { return }
            guard try fill() else { return }
        }
    }

    mutating func peek() throws(ManifestError) -> UInt8? {
        while position == buffer.count { guard try fill() else { return nil } }
        return buffer[position]
    }

    mutating func skip(_ count: Int = 1) { position += count }

    /// What ``nextLine(limit:)`` found.
    enum Line {
        /// The range in `buffer`, without its line feed.
        case line(Range<Int>)
        /// Longer than allowed: passed over.
        case tooLong
        case end
    }

    /// Whether a whole line stands in the buffer.
    var hasLine: Bool { isAtEnd || find(0x0A, from: position) != nil }

    mutating func nextLine(limit: Int) throws(ManifestError) -> Line {
        var searched = position
        while true {
            if let end = find(0x0A, from: searched) {
                defer { position = end + 1 }
                return end - position >= limit ? .tooLong : .line(position..<end)
            }
            if buffer.count - position >= limit { return try skipLine() }
            searched = buffer.count - position
            guard try fill() else {
                guard position < buffer.count else { return .end }
                defer { position = buffer.count }
                return .line(position..<buffer.count)
            }
        }
    }

    /// Whether the line that ``nextLine(limit:)`` has just given had its line feed.
    func endsLine(_ line: Range<Int>) -> Bool { position > line.upperBound }

    /// Passes over the rest of a line that is too long, without keeping it.
    private mutating func skipLine() throws(ManifestError) -> Line {
        repeat {
            if let end = find(0x0A, from: position) {
                position = end + 1
                return .tooLong
            }
            position = buffer.count
        } while try fill()
        return .tooLong
    }

    private func find(_ byte: UInt8, from start: Int) -> Int? {
        buffer.withUnsafeBytes { bytes in
            guard start < bytes.count, let base = bytes.baseAddress else { return nil }
            return memchr(base + start, Int32(byte), bytes.count - start).map { UnsafeRawPointer($0) - base }
        }
    }
}
