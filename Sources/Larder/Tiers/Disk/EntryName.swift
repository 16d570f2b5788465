/// The file name of an entry as C strings, made on the stack: a hit makes one each time.
enum EntryName {
    /// `ab/cdef…`, relative to the cache directory.
    static func withPath<Result, Failure: Error>(
        _ hash: CacheKey.Hash, _ body: (UnsafePointer<CChar>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var storage = Storage()
        return try storage.with { (buffer) throws(Failure) in
            write(hash, to: buffer, gap: 1)
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
            write(hash, to: buffer, gap: 1)
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

    private static func write(_ hash: CacheKey.Hash, to buffer: UnsafeMutablePointer<CChar>, gap: Int) {
        func digit(_ value: UInt64) -> CChar { CChar(value < 10 ? 48 + value : 87 + value) }
        for index in 0..<16 {
            let shift = 60 - 4 * UInt64(index)
            buffer[index < 2 ? index : index + gap] = digit(hash.high >> shift & 15)
            buffer[16 + index + gap] = digit(hash.low >> shift & 15)
        }
        buffer[32 + gap] = 0
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
