/// Reads the end of an entry file: at one go where the file is small, and then its payload with it.
enum EntryReader {
    /// What a look-up reads with its first call: most thumbnails as a whole, and not much of a larger image in vain.
    static let first = 8 << 10
    /// Up to this size a file is read as a whole.
    static let wholeFile: Int64 = 16 << 10
    /// What is read of the end of a larger one; more where its metadata are longer.
    static let usualTail = 2 << 10

    /// From an open file of that size.
    static func read(
        _ descriptor: Int32, size: Int64, _ fileSystem: any FileSystem
    ) throws(EntryTail.Fault) -> EntryTail {
        guard size >= Int64(EntryFormat.fixedLength + EntryFormat.trailerLength) else { throw .notAnEntry }
        do throws(EntryTail.Fault) {
            let count = size <= wholeFile ? Int(size) : usualTail
            return try EntryTail(try read(descriptor, size: size, count: count, fileSystem), fileSize: size)
        } catch {
            guard case .needs(let count) = error, Int64(count) <= size else { throw error }
            return try EntryTail(try read(descriptor, size: size, count: count, fileSystem), fileSize: size)
        }
    }

    private static func read(
        _ descriptor: Int32, size: Int64, count: Int, _ fileSystem: any FileSystem
    ) throws(EntryTail.Fault) -> HeldBytes {
        let bytes: HeldBytes
        do throws(SystemError) {
            bytes = try HeldBytes(capacity: count) { (room) throws(SystemError) in
                try fileSystem.read(descriptor, into: room, at: size - Int64(count))
            }
        } catch {
            throw .unreadable(error)
        }
        guard bytes.count == count else { throw .damaged }
        return bytes
    }
}
