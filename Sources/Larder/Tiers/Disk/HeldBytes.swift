/// Bytes of a file that never change once they are read.
///
/// They begin at a cache line: the kernel writes to such a place, and XXH3 reads from it, faster than where an array has
/// its elements, and a hit does not search for an array's type.
final class HeldBytes: @unchecked Sendable {
    // Sendable: written in `init` alone.
    private let block: UnsafeMutableRawPointer
    private let start: UnsafeMutableRawPointer
    let count: Int

    private static let line = 64

    /// - Parameters:
    ///   - capacity: bytes that there is room for.
    ///   - fill: writes some of them and gives their number.
    init<Failure: Error>(
        capacity: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) {
        // Not the aligned allocation: the allocator cuts a piece off for it each time.
        let block = UnsafeMutableRawPointer.allocate(byteCount: capacity + Self.line, alignment: 16)
        let start = block.alignedUp(toMultipleOf: Self.line)
        do throws(Failure) {
            count = try fill(UnsafeMutableRawBufferPointer(start: start, count: capacity))
        } catch {
            block.deallocate()
            throw error
        }
        precondition(count <= capacity)
        self.block = block
        self.start = start
    }

    convenience init(_ bytes: [UInt8]) {
        self.init(capacity: bytes.count) { room in
            room.copyBytes(from: bytes)
            return bytes.count
        }
    }

    deinit { block.deallocate() }

    func with<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { extendLifetime(self) }
        return try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// A little-endian number at an offset that exists.
    func number<Number: FixedWidthInteger>(at offset: Int, as type: Number.Type) -> Number {
        precondition(offset >= 0 && offset + MemoryLayout<Number>.size <= count)
        return Number(littleEndian: start.loadUnaligned(fromByteOffset: offset, as: Number.self))
    }

    /// Of a part that exists.
    func checksum(_ part: Range<Int>) -> UInt64 {
        precondition(part.lowerBound >= 0 && part.upperBound <= count)
        return EntryFormat.checksum(UnsafeRawBufferPointer(start: start + part.lowerBound, count: part.count))
    }
}
