/// The file name of an entry as C strings, made on the stack: a hit makes one each time.
enum EntryName {
    /// `ab/cdef…`, relative to the cache directory.
    static func withPath<Result, Failure: Error>(
        _ hash: CacheKey.Hash, _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var storage = Storage()
        return try storage.with { (buffer) throws(Failure) in
            write(hash, to: buffer)
            buffer[2] = 47
            return try body(UnsafePointer(buffer))
        }
    }

    /// The folder `ab` and the name `cdef…` in it.
    static func withParts<Result, Failure: Error>(
        _ hash: CacheKey.Hash,
        _ body: (_ folder: UnsafePointer<CChar>, _ name: UnsafePointer<CChar>) throws(Failure)
            -> Result
    ) throws(Failure) -> Result {
        var storage = Storage()
        return try storage.with { (buffer) throws(Failure) in
            write(hash, to: buffer)
            buffer[2] = 0
            return try body(UnsafePointer(buffer), UnsafePointer(buffer + 3))
        }
    }

    /// Which of the 256 folders.
    static func folder(_ hash: CacheKey.Hash) -> Int { Int(hash.high >> 56) }

    /// The folder's name.
    static func folderName(_ folder: Int) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: [digits[folder >> 4 & 15], digits[folder & 15]], as: UTF8.self)
    }

    /// The number of a folder of that name; nil where it is none of the 256.
    static func folder(named name: UnsafePointer<CChar>) -> Int? {
        guard let high = digit(name[0]), let low = digit(name[1]), name[2] == 0 else { return nil }
        return Int(high << 4 | low)
    }

    private static func digit(_ char: CChar) -> UInt64? {
        switch UInt8(bitPattern: char) {
        case let byte where byte >= 48 && byte <= 57: UInt64(byte - 48)
        case let byte where byte >= 97 && byte <= 102: UInt64(byte - 87)
        default: nil
        }
    }

    /// The hash of an entry of that name in that folder; nil where the name is not ours.
    static func hash(folder: Int, name: UnsafePointer<CChar>) -> CacheKey.Hash? {
        var high = UInt64(folder)
        var low: UInt64 = 0
        for index in 0..<30 {
            guard let digit = digit(name[index]) else { return nil }
            if index < 14 { high = high << 4 | digit } else { low = low << 4 | digit }
        }
        return name[30] == 0 ? CacheKey.Hash(high: high, low: low) : nil
    }

    /// Writes the 32 digits and a zero, with one byte left free behind the first two.
    private static func write(_ hash: CacheKey.Hash, to buffer: UnsafeMutablePointer<CChar>) {
        let raw = UnsafeMutableRawPointer(buffer)
        func put(_ word: UInt64, at offset: Int) {
            raw.storeBytes(of: digits(UInt32(truncatingIfNeeded: word)), toByteOffset: offset, as: UInt64.self)
        }
        put(hash.high >> 32, at: 1)
        put(hash.high, at: 9)
        put(hash.low >> 32, at: 17)
        put(hash.low, at: 25)
        buffer[0] = buffer[1]
        buffer[1] = buffer[2]
        buffer[33] = 0
    }

    /// Eight lower-case hex digits, the first in the lowest byte in memory.
    private static func digits(_ number: UInt32) -> UInt64 {
        // A digit a byte.
        var spread = UInt64(number)
        spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
        spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
        spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0F
        let letters = (spread &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        // From `0`, and for letters on to `a`.
        return (spread &+ 0x3030_3030_3030_3030 &+ letters &* 39).bigEndian
    }

    private struct Storage {
        var words: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)

        mutating func with<Result, Failure: Error>(
            _ body: (UnsafeMutablePointer<CChar>) throws(Failure) -> Result
        ) throws(Failure) -> Result {
            try withUnsafeMutablePointer(to: &words) { (pointer) throws(Failure) in
                try pointer.withMemoryRebound(to: CChar.self, capacity: 40) { (buffer) throws(Failure) in
                    try body(buffer)
                }
            }
        }
    }
}
