/// Reads the end of an entry file: at one go where the file is small, and then its payload with it.
enum EntryReader {
    /// Up to this size a file is read as a whole.
    static let wholeFile: Int64 = 16 << 10
    /// What is read of the end of a larger one; more where its metadata are longer.
    static let usualTail = 2 << 10

    static func tail(
        _ descriptor: Int32, size: Int64, _ fileSystem: any FileSystem
    ) throws(EntryTail.Fault) -> EntryTail {
        guard size >= Int64(EntryFormat.fixedLength + EntryFormat.trailerLength) else { throw .notAnEntry }
        let first = size <= wholeFile ? Int(size) : usualTail
        do throws(EntryTail.Fault) {
            return try EntryTail(try read(descriptor, size: size, count: first, fileSystem), fileSize: size)
        } catch {
            guard case .needs(let count) = error, Int64(count) <= size else { throw error }
            return try EntryTail(try read(descriptor, size: size, count: count, fileSystem), fileSize: size)
        }
    }

    private static func read(
        _ descriptor: Int32, size: Int64, count: Int, _ fileSystem: any FileSystem
    ) throws(EntryTail.Fault) -> [UInt8] {
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            let room = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: count)
            do throws(SystemError) {
                done = try fileSystem.read(descriptor, into: room, at: size - Int64(count))
            } catch {
                failure = error
            }
        }
        if let failure { throw .unreadable(failure) }
        guard bytes.count == count else { throw .damaged }
        return bytes
    }
}
