/// Why a reader of headers stopped.
enum HeaderStop: Error {
    /// The bytes up to this offset are needed; the reader is asked again once they are there.
    case missing(through: Int)
    case failed(ImageError)

    static func corrupt(_ detail: String) -> HeaderStop { .failed(.corrupt(.init(detail))) }
}

/// The part of a stream that is held, read by absolute offsets. Every access is checked: bytes that have not come
/// yet stop the reader, an offset that overflows or points back is damage.
struct ByteWindow {
    let bytes: UnsafeRawBufferPointer
    /// The offset in the stream of the first byte held.
    let base: Int

    init(_ bytes: UnsafeRawBufferPointer, base: Int = 0) {
        self.bytes = bytes
        self.base = base
    }

    /// The offset behind the last byte held.
    var end: Int { base + bytes.count }

    func slice(_ offset: Int, _ count: Int) throws(HeaderStop) -> UnsafeRawBufferPointer {
        let (last, overflow) = offset.addingReportingOverflow(count)
        guard !overflow, count >= 0, offset >= base else { throw .corrupt("an offset points outside of the file") }
        guard last <= end else { throw .missing(through: last) }
        return UnsafeRawBufferPointer(rebasing: bytes[offset - base..<last - base])
    }

    func u8(_ offset: Int) throws(HeaderStop) -> Int {
        guard offset >= base else { throw .corrupt("an offset points outside of the file") }
        guard offset < end else {
            guard offset < Int.max else { throw .corrupt("an offset points outside of the file") }
            throw .missing(through: offset + 1)
        }
        return Int(bytes[offset - base])
    }

    func u16(_ offset: Int, bigEndian: Bool = true) throws(HeaderStop) -> Int {
        Int(try number(offset, 2, bigEndian))
    }

    func u32(_ offset: Int, bigEndian: Bool = true) throws(HeaderStop) -> Int {
        Int(try number(offset, 4, bigEndian))
    }

    /// Throws also where the value is beyond `Int.max`: no size or offset is.
    func u64(_ offset: Int, bigEndian: Bool = true) throws(HeaderStop) -> Int {
        guard let value = Int(exactly: try number(offset, 8, bigEndian)) else {
            throw .corrupt("an offset points outside of the file")
        }
        return value
    }

    /// Little-endian, 1 to 8 bytes.
    func little(_ offset: Int, _ count: Int) throws(HeaderStop) -> Int {
        Int(truncatingIfNeeded: try number(offset, count, false))
    }

    func tag(_ offset: Int) throws(HeaderStop) -> String {
        String(decoding: try slice(offset, 4), as: UTF8.self)
    }

    private func number(_ offset: Int, _ count: Int, _ bigEndian: Bool) throws(HeaderStop) -> UInt64 {
        var value: UInt64 = 0
        let part = try slice(offset, count)
        for index in 0..<count { value = value << 8 | UInt64(part[bigEndian ? index : count - 1 - index]) }
        return value
    }
}
