import Dispatch
import Glibc

/// One opened cache directory with all that belongs to it: what a tier uses until another directory takes the
/// place of this one.
final class Volume: Sendable {
    let directory: CacheDirectory
    let configuration: DiskTierConfiguration
    let time: any TimeSource
    let warner: Warner
    private let names: TemporaryNames

    init(directory: CacheDirectory, configuration: DiskTierConfiguration, time: any TimeSource, warner: Warner) {
        self.directory = directory
        self.configuration = configuration
        self.time = time
        self.warner = warner
        names = TemporaryNames()
    }

    var fileSystem: any FileSystem { directory.fileSystem }
    var partials: PartialStore { PartialStore(volume: self) }
    var cacheTime: Timestamp { time.now }

    func warn(_ error: SystemError, _ text: String) { warner.warn(error, text) }

    // MARK: Reading

    /// Opens and checks the entry of a key.
    func entry(for key: CacheKey) -> StoredEntry? {
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try EntryName.withPath(key.hash) { (path) throws(SystemError) in
                try fileSystem.open(path, in: directory.root, .read, permissions: 0)
            }
        } catch {
            if !error.isMissing { warn(error, "cannot open a cache entry; it is fetched instead") }
            return nil
        }
        var kept = false
        defer { if !kept { fileSystem.close(descriptor) } }
        guard let tail = readTail(descriptor, hash: key.hash) else { return nil }
        guard tail.matches(key) else { return nil }
        kept = true
        return StoredEntry(key: key, tail: tail, backing: .file(descriptor), isStored: true, volume: self)
    }

    /// The tail of an open entry file; what is damaged is set aside.
    func readTail(_ descriptor: Int32, hash: CacheKey.Hash) -> EntryTail? {
        do throws(SystemError) {
            let status = try fileSystem.status(of: descriptor)
            guard status.kind == .file else { return nil }
            do throws(EntryTail.Fault) {
                let tail = try EntryReader.tail(descriptor, size: status.size, fileSystem)
                guard tail.kind == .entry else { throw .damaged }
                return tail
            } catch {
                switch error {
                // A newer larder's: left alone, and replaced once the image was fetched.
                case .unknownVersion: return nil
                case .unreadable(let error): throw error
                case .needs, .notAnEntry, .damaged: setAside(hash, descriptor)
                }
                return nil
            }
        } catch {
            warn(error, "cannot read a cache entry; it is fetched instead")
            return nil
        }
    }

    /// The same entry under the freshness of its source.
    func entry(_ entry: StoredEntry, fresh: StoredFreshness) -> StoredEntry {
        entry.freshness == fresh ? entry : StoredEntry(entry, freshness: fresh)
    }

    // MARK: Writing

    /// A new temporary file, locked as long as it is open, so that others can tell it from a dead one.
    func makeTemporary() -> (descriptor: Int32, name: String)? {
        guard directory.temporary >= 0 else {
            if let reason = directory.readOnlyReason {
                warn(reason, "the cache directory cannot be written to; images load but are not stored")
            }
            return nil
        }
        let name = names.next()
        do throws(SystemError) {
            let descriptor = try fileSystem.open(
                name, in: directory.temporary, .create, permissions: configuration.filePermissions)
            do throws(SystemError) {
                _ = try fileSystem.tryLock(descriptor, at: 0, count: 1, shared: false)
            } catch {
                fileSystem.close(descriptor)
                removeTemporary(name)
                throw error
            }
            return (descriptor, name)
        } catch {
            warn(error, "cannot make a file in the cache; images load but are not stored")
            return nil
        }
    }

    func nextTemporaryName() -> String { names.next() }

    func removeTemporary(_ name: String) { try? fileSystem.unlink(name, in: directory.temporary) }

    /// Puts a complete temporary file in its entry's place; false where it may not be stored.
    func publish(
        _ name: String, _ hash: CacheKey.Hash, tail: EntryTail, size: Int64, replacing: FileStatus?
    ) -> Bool {
        do throws(SystemError) {
            try directory.withFolder(of: hash, creates: true) { (folder, file) throws(SystemError) in
                try fileSystem.rename(name, in: directory.temporary, to: file, in: folder)
            }
            return true
        } catch {
            warn(error, "cannot put an entry in its place; images load but are not stored")
            return false
        }
    }

    /// Copies a payload from file to file; gives its length.
    func copy(_ source: Int32, to target: Int32, count: Int64) throws(SystemError) -> Int64 {
        var done: Int64 = 0
        var inKernel = true
        while done < count {
            let wanted = Int(min(count - done, 1 << 30))
            var copied = 0
            if inKernel {
                do throws(SystemError) {
                    copied = try fileSystem.copy(source, at: done, to: target, at: done, count: wanted)
                } catch {
                    guard [EXDEV, EINVAL, ENOSYS, EOPNOTSUPP, EPERM].contains(error.code) else { throw error }
                    inKernel = false
                }
            }
            if !inKernel { copied = try copyThrough(source, to: target, at: done, count: wanted) }
            // The source was cut behind our back.
            if copied == 0 { throw SystemError(.copy, EIO) }
            done += Int64(copied)
        }
        return done
    }

    private func copyThrough(
        _ source: Int32, to target: Int32, at offset: Int64, count: Int
    ) throws(SystemError) -> Int {
        var buffer = [UInt8](repeating: 0, count: min(count, 128 << 10))
        var read = 0
        try buffer.withMutableRawBytes { (bytes) throws(SystemError) in
            read = try fileSystem.read(source, into: bytes, at: offset)
            try fileSystem.write(target, UnsafeRawBufferPointer(rebasing: bytes[..<read]), at: offset)
        }
        return read
    }

    func remove(_ hash: CacheKey.Hash) {
        do throws(SystemError) {
            try directory.withFolder(of: hash, creates: false) { (folder, name) throws(SystemError) in
                try fileSystem.unlink(name, in: folder)
            }
        } catch {
            if !error.isMissing { warn(error, "cannot remove a cache entry") }
        }
    }

    /// Moves a damaged entry out of the way, where it is still the one that was opened.
    func setAside(_ hash: CacheKey.Hash, _ descriptor: Int32) {
        Quarantine(volume: self).take(hash, descriptor)
    }
}
