import Glibc

/// The beginnings of cut transfers, kept in `tmp/` to be continued: `HASH.part`, one for each key that is asked for,
/// bounded. That of a private answer is found by the key that was asked for, as the entry is.
struct PartialStore {
    static let suffix = ".part"
    /// Where the metadata's `extra` keeps the validator.
    static let validatorMember = "larder.partial.validator"
    let volume: Volume

    private static func name(_ hash: CacheKey.Hash) -> String { "\(hash)\(suffix)" }

    /// Keeps a complete temporary file of kind ``EntryFormat/Kind/partial``.
    func keep(_ temporary: String, _ key: CacheKey) {
        let folder = volume.directory.temporary
        let room = volume.configuration.partials
        do throws(SystemError) {
            let size = try volume.fileSystem.status(of: temporary, in: folder).size
            guard size <= room.bytes, room.count > 0 else { return volume.removeTemporary(temporary) }
            BoundedFolder(volume: volume, folder: folder).makeRoom(for: size, room) { Self.hash($0) != nil }
            try volume.fileSystem.rename(temporary, in: folder, to: Self.name(key.asked.hash), in: folder)
        } catch {
            volume.removeTemporary(temporary)
        }
    }

    /// Removes every kept beginning that is not being continued.
    func removeAll() {
        let none = DiskTierConfiguration.Bounds(count: 0, bytes: 0, age: 0)
        guard volume.directory.temporary >= 0 else { return }
        BoundedFolder(volume: volume, folder: volume.directory.temporary).makeRoom(for: 0, none) {
            Self.hash($0) != nil
        }
    }

    /// The hash of the key that a file of that name is the beginning for; nil where the name is not ours.
    private static func hash(_ name: String) -> CacheKey.Hash? {
        name.hasSuffix(suffix) ? CacheKey.Hash(hex: name.dropLast(suffix.count)) : nil
    }

    /// Removes the kept beginnings of a URL, whatever their credentials.
    func remove(url: String) {
        let (fileSystem, folder) = (volume.fileSystem, volume.directory.temporary)
        guard folder >= 0 else { return }
        var hashes: [CacheKey.Hash] = []
        try? fileSystem.list(folder) { name in
            if let hash = Self.hash(String(cString: name)) { hashes.append(hash) }
            return hashes.count < 4096
        }
        for hash in hashes {
            guard let descriptor = try? fileSystem.open(Self.name(hash), in: folder, .read, permissions: 0) else {
                continue
            }
            defer { fileSystem.close(descriptor) }
            guard let size = try? fileSystem.status(of: descriptor).size,
                let tail = try? EntryReader.read(descriptor, size: size, fileSystem), tail.key.url == url
            else { continue }
            try? fileSystem.unlink(Self.name(hash), in: folder)
        }
    }

    /// Removes the kept beginning of a key, if there is one.
    func remove(_ hash: CacheKey.Hash) {
        guard volume.directory.temporary >= 0 else { return }
        try? volume.fileSystem.unlink(Self.name(hash), in: volume.directory.temporary)
    }

    /// Takes a kept beginning over, read through and checked; nil where there is none, or another process has it.
    func resume(_ key: CacheKey) -> EntryWriter? {
        let fileSystem = volume.fileSystem
        let folder = volume.directory.temporary
        guard folder >= 0 else { return nil }
        let name = Self.name(key.asked.hash)
        // Nearly always there is none: looking costs a third of a rename that finds nothing.
        guard (try? fileSystem.status(of: name, in: folder)) != nil else { return nil }
        let own = volume.nextTemporaryName()
        /// A fault of the moment says nothing about what is kept.
        func putBack() -> Bool { (try? fileSystem.rename(own, in: folder, to: name, in: folder)) != nil }
        // Renamed first: of two that want it one gets it, and as long as we live nobody else takes it for dead.
        guard (try? fileSystem.rename(name, in: folder, to: own, in: folder)) != nil else { return nil }
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try fileSystem.open(own, in: folder, .update, permissions: 0)
        } catch {
            if error.code == ELOOP || !putBack() { volume.removeTemporary(own) }
            return nil
        }
        var kept = false
        defer {
            if !kept {
                volume.removeTemporary(own)
                fileSystem.close(descriptor)
            }
        }
        do throws(SystemError) {
            let status = try fileSystem.status(of: descriptor)
            guard status.kind == .file, let found = try open(descriptor, status, key) else { return nil }
            try fileSystem.truncate(descriptor, to: Int64(found.partial.bytes))
            kept = true
            return EntryWriter(
                volume: volume, key: found.partial.metadata.key, descriptor: descriptor, name: own,
                resumed: found.partial,
                digest: found.digest.take(), checksum: found.checksum)
        } catch {
            kept = putBack()
            if kept { fileSystem.close(descriptor) }
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
            tail = try EntryReader.read(descriptor, size: status.size, volume.fileSystem)
            metadata = try tail.metadata()
        } catch EntryTail.Fault.unreadable(let error) {
            throw error
        } catch {
            return nil
        }
        let isOfKey = tail.matches(key) || key.ofPrivateAnswer.map(tail.matches) ?? false
        guard tail.kind == .partial, isOfKey, tail.payloadLength > 0,
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
