/// What the usage file says: bytes and count of each of the 256 folders, and the cache's clock. Little-endian:
///
///     0  8  "LRDUSAGE"      32  8  cache time, ms        64  256 records of 16 bytes:
///     8  4  version 1       40  8  wall time then, ms        8  bytes on disk
///     16 16 boot            48  8  XXH3 of the rest          4  entries
///                                                            4  1: known, 2: being changed
struct UsagePage {
    static let size = 64 + 256 * 16
    private static let magic = UInt64(littleEndian: 0x4547_4153_5544_524C)
    private static let checksumAt = 48
    private static let known: UInt32 = 1
    private static let dirty: UInt32 = 2
    /// A step of the wall clock by more than this is a clock that was set, not time that passed: 90 days, in ms.
    private static let believedStep: Int64 = 90 * 86_400_000

    private(set) var bytes: [UInt8]

    /// Nothing is known yet.
    init(boot: [UInt8], now: Timestamp) {
        bytes = [UInt8](repeating: 0, count: Self.size)
        put(Self.magic, at: 0)
        put(1 as UInt32, at: 8)
        for (index, byte) in boot.prefix(16).enumerated() { bytes[16 + index] = byte }
        put(now.milliseconds, at: 32)
        put(now.milliseconds, at: 40)
    }

    /// nil where the bytes are not such a page, whole and of this version.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.bytes = bytes
        guard get(0, UInt64.self) == Self.magic, get(8, UInt32.self) == 1, get(Self.checksumAt) == checksum else {
            return nil
        }
        guard withRecords({ $0.allSatisfy { (0...Int64.max >> 12).contains($0.bytes) } }) else { return nil }
    }

    /// The bytes with their checksum.
    mutating func seal() { put(checksum, at: Self.checksumAt) }

    private var checksum: UInt64 {
        bytes.withUnsafeBytes { all in
            EntryFormat.checksum(UnsafeRawBufferPointer(rebasing: all[..<Self.checksumAt]))
                ^ EntryFormat.checksum(UnsafeRawBufferPointer(rebasing: all[64...]))
        }
    }

    var boot: ArraySlice<UInt8> { bytes[16..<32] }

    // MARK: Totals

    /// Over all folders; nil while one of them is not counted.
    var total: (bytes: Int64, count: Int64)? {
        withRecords { records in
            var sum: (bytes: Int64, count: Int64) = (0, 0)
            for record in records {
                guard record.isKnown else { return nil }
                // 256 numbers below 2^51 cannot overflow.
                sum.bytes += record.bytes
                sum.count += Int64(record.count)
            }
            return sum
        }
    }

    /// A folder's 16 bytes as they lie there.
    private struct RawRecord {
        private let rawBytes: Int64
        private let rawCount: UInt32
        private let rawFlags: UInt32
        var bytes: Int64 { Int64(littleEndian: rawBytes) }
        var count: UInt32 { UInt32(littleEndian: rawCount) }
        var flags: UInt32 { UInt32(littleEndian: rawFlags) }
        var isKnown: Bool { flags & (UsagePage.known | UsagePage.dirty) == UsagePage.known }
    }

    private func withRecords<Result>(_ body: (UnsafeBufferPointer<RawRecord>) -> Result) -> Result {
        bytes.withUnsafeBytes { all in
            UnsafeRawBufferPointer(rebasing: all[64...]).withMemoryRebound(to: RawRecord.self, body)
        }
    }

    /// Bytes and count of one folder.
    func record(_ folder: Int) -> Record {
        Record(bytes: get(64 + 16 * folder), count: get(64 + 16 * folder + 8))
    }

    struct Record: Equatable {
        var bytes: Int64
        var count: UInt32
    }

    private func flags(_ folder: Int) -> UInt32 { get(64 + 16 * folder + 12) }

    func isKnown(_ folder: Int) -> Bool { withRecords { $0[folder].isKnown } }

    /// Folders whose last change was cut short by the end of the process that made it.
    var dirtyFolders: [Int] {
        // Nearly always there is none.
        guard withRecords({ $0.reduce(0) { $0 | $1.flags } }) & Self.dirty != 0 else { return [] }
        return (0..<256).filter { flags($0) & Self.dirty != 0 }
    }

    mutating func markDirty(_ folder: Int) { put(flags(folder) | Self.dirty, at: 64 + 16 * folder + 12) }

    mutating func markClean() {
        for folder in dirtyFolders { put(flags(folder) & ~Self.dirty, at: 64 + 16 * folder + 12) }
    }

    mutating func forgetAll() { for folder in 0..<256 { put(0 as UInt32, at: 64 + 16 * folder + 12) } }

    mutating func set(_ folder: Int, bytes: Int64, count: Int) {
        put(min(max(bytes, 0), Int64.max >> 12), at: 64 + 16 * folder)
        put(UInt32(clamping: count), at: 64 + 16 * folder + 8)
        put(Self.known, at: 64 + 16 * folder + 12)
    }

    /// Held within the range: a count that was wrong never wraps.
    mutating func add(_ folder: Int, bytes: Int64, count: Int64) {
        let sum = get(64 + 16 * folder, Int64.self).addingReportingOverflow(bytes)
        put(sum.overflow ? Int64.max >> 12 : min(max(sum.partialValue, 0), Int64.max >> 12), at: 64 + 16 * folder)
        put(
            UInt32(clamping: Int64(get(64 + 16 * folder + 8, UInt32.self)) + count), at: 64 + 16 * folder + 8)
    }

    // MARK: Clock

    /// The cache's own time: goes on with the wall clock, stands still where that goes back, and does not follow
    /// it where it jumps ahead by more than 90 days. Ages are reckoned with it, so that a clock that is set wrong
    /// evicts nothing and one that is set right keeps nothing for ever.
    mutating func advanceClock(_ now: Timestamp) {
        put(time(at: now).milliseconds, at: 32)
        put(now.milliseconds, at: 40)
    }

    func time(at now: Timestamp) -> Timestamp {
        let (step, overflow) = now.milliseconds.subtractingReportingOverflow(get(40))
        let believed = overflow || step < 0 || step > Self.believedStep ? 0 : step
        let (sum, over) = get(32, Int64.self).addingReportingOverflow(believed)
        return Timestamp(milliseconds: over ? .max : sum)
    }

    mutating func setBoot(_ boot: [UInt8]) {
        for (index, byte) in boot.prefix(16).enumerated() { bytes[16 + index] = byte }
    }

    private func get<Number: FixedWidthInteger>(_ offset: Int, _ type: Number.Type = Number.self) -> Number {
        bytes.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Number.self)) }
    }

    private mutating func put<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        bytes.withUnsafeMutableBytes { $0.storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self) }
    }
}
