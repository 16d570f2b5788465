/// Reads the end of an entry file: at one go where the file is small, and then its payload with it.
struct EntryReader {
    let tail: EntryTail
    /// The payload where it was read with the tail. Its checksum is still to be compared.
    let payload: [UInt8]?

    /// What a look-up reads with its first call: most thumbnails as a whole, and not much of a larger image in vain.
    static let first = 8 << 10
    /// Up to this size a file is read as a whole.
    static let wholeFile: Int64 = 16 << 10
    /// What is read of the end of a larger one; more where its metadata are longer.
    static let usualTail = 2 << 10

    /// From the bytes of a whole file.
    init(_ whole: consuming [UInt8]) throws(EntryTail.Fault) {
        let tail = try whole.withRawBytes { (bytes) throws(EntryTail.Fault) in
            try EntryTail(bytes, fileSize: Int64(bytes.count))
        }
        whole.removeLast(whole.count - Int(tail.payloadLength))
        self.tail = tail
        payload = whole
    }

    private init(tail: EntryTail) {
        self.tail = tail
        payload = nil
    }

    /// From an open file of that size.
    static func read(
        _ descriptor: Int32, size: Int64, _ fileSystem: any FileSystem
    ) throws(EntryTail.Fault) -> EntryReader {
        guard size >= Int64(EntryFormat.fixedLength + EntryFormat.trailerLength) else { throw .notAnEntry }
        if size <= wholeFile {
            return try EntryReader(try read(descriptor, size: size, count: Int(size), fileSystem))
        }
        do throws(EntryTail.Fault) {
            let bytes = try read(descriptor, size: size, count: usualTail, fileSystem)
            return EntryReader(tail: try EntryTail(bytes, fileSize: size))
        } catch {
            guard case .needs(let count) = error, Int64(count) <= size else { throw error }
            let bytes = try read(descriptor, size: size, count: count, fileSystem)
            return EntryReader(tail: try EntryTail(bytes, fileSize: size))
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
