/// The beginnings of cut transfers, kept in `tmp/` to be continued: `HASH.part`, one a key, bounded.
struct PartialStore {
    static let suffix = ".part"
    /// Where the metadata's `extra` keeps the validator.
    static let validatorMember = "larder.partial.validator"
    let volume: Volume

    private static func name(_ hash: CacheKey.Hash) -> String { "\(hash)\(suffix)" }

    /// Keeps a complete temporary file of kind ``EntryFormat/Kind/partial``.
    func keep(_ temporary: String, _ hash: CacheKey.Hash) {
        let folder = volume.directory.temporary
        let room = volume.configuration.partials
        do throws(SystemError) {
            let size = try volume.fileSystem.status(of: temporary, in: folder).size
            guard size <= room.bytes, room.count > 0 else { return volume.removeTemporary(temporary) }
            BoundedFolder(volume: volume, folder: folder).makeRoom(for: size, room) { $0.hasSuffix(Self.suffix) }
            try volume.fileSystem.rename(temporary, in: folder, to: Self.name(hash), in: folder)
        } catch {
            volume.removeTemporary(temporary)
        }
    }

    /// Takes a kept beginning over, read through and checked; nil where there is none, or another process has it.
    func resume(_ key: CacheKey) -> EntryWriter? {
        let fileSystem = volume.fileSystem
        let folder = volume.directory.temporary
        guard folder >= 0 else { return nil }
        let name = Self.name(key.hash)
        guard let descriptor = try? fileSystem.open(name, in: folder, .update, permissions: 0) else { return nil }
        var kept = false
        defer { if !kept { fileSystem.close(descriptor) } }
        do throws(SystemError) {
            guard try fileSystem.tryLock(descriptor, at: 0, count: 1, shared: false) else { return nil }
            let status = try fileSystem.status(of: descriptor)
            guard try fileSystem.status(of: name, in: folder).isSame(as: status) else { return nil }
            let own = volume.nextTemporaryName()
            try fileSystem.rename(name, in: folder, to: own, in: folder)
            guard let found = try open(descriptor, status, key) else {
                volume.removeTemporary(own)
                return nil
            }
            do throws(SystemError) {
                try fileSystem.truncate(descriptor, to: Int64(found.partial.bytes))
            } catch {
                volume.removeTemporary(own)
                throw error
            }
            kept = true
            return EntryWriter(
                volume: volume, key: key, descriptor: descriptor, name: own, resumed: found.partial,
                digest: found.digest.take(), checksum: found.checksum)
        } catch {
            return nil
        }
    }

    private struct Found {
        let partial: EntryWriter.Partial
        let digest: DigestBox
        let checksum: PayloadChecksum
    }

    private final class DigestBox {
        private var digest: SHA256? = SHA256()
        func update(_ bytes: UnsafeRawBufferPointer) { digest?.update(bytes) }
        func take() -> SHA256 { digest.take() ?? SHA256() }
    }

    private func open(_ descriptor: Int32, _ status: FileStatus, _ key: CacheKey) throws(SystemError) -> Found? {
        let tail: EntryTail
        let metadata: EntryMetadata
        do {
            tail = try EntryReader.tail(descriptor, size: status.size, volume.fileSystem)
            metadata = try tail.metadata()
        } catch {
            return nil
        }
        guard tail.kind == .partial, tail.matches(key), tail.payloadLength > 0,
            let validator = metadata.extra[Self.validatorMember]
        else { return nil }
        let digest = DigestBox()
        let checksum = PayloadChecksum()
        var buffer = [UInt8](repeating: 0, count: 128 << 10)
        var offset: Int64 = 0
        while offset < tail.payloadLength {
            let wanted = Int(min(Int64(buffer.count), tail.payloadLength - offset))
            var count = 0
            try buffer.withMutableRawBytes { (bytes) throws(SystemError) in
                count = try volume.fileSystem.read(
                    descriptor, into: UnsafeMutableRawBufferPointer(rebasing: bytes[..<wanted]), at: offset)
                let part = UnsafeRawBufferPointer(rebasing: bytes[..<count])
                digest.update(part)
                checksum.update(part)
            }
            if count == 0 { return nil }
            offset += Int64(count)
        }
        guard checksum.value == tail.payloadChecksum else { return nil }
        var head = metadata
        head.extra[Self.validatorMember] = nil
        let partial = EntryWriter.Partial(validator: validator, bytes: Int(tail.payloadLength), metadata: head)
        return Found(partial: partial, digest: digest, checksum: checksum)
    }
}
