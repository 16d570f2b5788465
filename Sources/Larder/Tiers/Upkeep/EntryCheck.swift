/// Checks one entry file from its first byte to its last, without changing anything.
struct EntryCheck {
    let fileSystem: any FileSystem

    enum Result {
        case whole(EntryTail)
        /// Of a version that this build does not know.
        case unknownVersion
        case damaged(String)
        case unreadable(SystemError)
    }

    /// - Parameter hash: what the file's name says.
    func check(_ descriptor: Int32, hash: CacheKey.Hash) -> Result {
        let tail: EntryTail
        do {
            let status = try fileSystem.status(of: descriptor)
            tail = try EntryReader.read(descriptor, size: status.size, fileSystem)
        } catch let error as SystemError {
            return .unreadable(error)
        } catch EntryTail.Fault.unknownVersion {
            return .unknownVersion
        } catch EntryTail.Fault.unreadable(let error) {
            return .unreadable(error)
        } catch EntryTail.Fault.notAnEntry {
            return .damaged("not an entry, or cut")
        } catch {
            return .damaged("trailer or metadata")
        }
        guard tail.kind == .entry else { return .damaged("not an entry") }
        guard tail.hash == hash, tail.key.hash == hash else { return .damaged("another entry's name") }
        guard (try? tail.metadata()) != nil else { return .damaged("metadata") }
        return payload(descriptor, tail)
    }

    private func payload(_ descriptor: Int32, _ tail: EntryTail) -> Result {
        let checksum = PayloadChecksum()
        var digest = SHA256()
        var offset: Int64 = 0
        var buffer = [UInt8](repeating: 0, count: 128 << 10)
        while offset < tail.payloadLength {
            let wanted = Int(min(Int64(buffer.count), tail.payloadLength - offset))
            let count: Int
            do throws(SystemError) {
                count = try buffer.withMutableRawBytes { (bytes) throws(SystemError) in
                    let part = UnsafeMutableRawBufferPointer(rebasing: bytes[..<wanted])
                    return try fileSystem.read(descriptor, into: part, at: offset)
                }
            } catch {
                return .unreadable(error)
            }
            if count == 0 { return .damaged("cut") }
            buffer.withUnsafeBytes { bytes in
                let part = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                checksum.update(part)
                digest.update(part)
            }
            offset += Int64(count)
        }
        guard checksum.value == tail.payloadChecksum else { return .damaged("checksum of the image") }
        guard digest.finalize() == tail.sha256 else { return .damaged("SHA-256 of the image") }
        return .whole(tail)
    }
}
