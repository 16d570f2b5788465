import Glibc
import Synchronization

/// One opened cache directory with all that belongs to it: what a tier uses until another directory takes the
/// place of this one.
final class Volume: Sendable {
    let directory: CacheDirectory
    let configuration: DiskTierConfiguration
    let time: any TimeSource
    let warner: Warner
    let ledger: UsageLedger
    let locks: LockFile
    let index: EntryIndex
    let victims: VictimQueue
    /// Until when commits wait for the first count, in monotonic nanoseconds.
    let countAwaited = Lock<UInt64?>(nil)
    private let names: TemporaryNames
    /// Whether the last hit was one of a larger file: the next one likely is.
    private let expectsLarge = Atomic(false)
    let fileSystem: any FileSystem

    init(directory: CacheDirectory, configuration: DiskTierConfiguration, time: any TimeSource, warner: Warner) {
        self.directory = directory
        fileSystem = directory.fileSystem
        self.configuration = configuration
        self.time = time
        self.warner = warner
        ledger = UsageLedger(directory: directory, time: time)
        victims = VictimQueue(time: time)
        locks = LockFile(directory: directory)
        names = TemporaryNames(locks)
        let generation = IndexGeneration(directory: directory, locks: locks)
        index = EntryIndex(generation: generation)
        countEmpty()
        index.start(IndexWriter(index: index, generation: generation, volume: self))
    }

    /// Writes the index and ends its thread, which holds this object until then.
    func close() { index.close() }

    var partials: PartialStore { PartialStore(volume: self) }
    var cacheTime: Timestamp { ledger.cacheTime }

    func warn(_ error: SystemError, _ text: String) { warner.warn(error, text) }

    /// In a new directory the count is known at once: folders that are not there hold nothing.
    private func countEmpty() {
        guard directory.readOnlyReason == nil, ledger.lastTotal == nil else { return }
        do throws(SystemError) {
            try ledger.change { (change) throws(SystemError) in
                let present = try directory.folders()
                for folder in 0..<256 where !change.page.isKnown(folder) && !present.contains(folder) {
                    change.page.set(folder, bytes: 0, count: 0)
                }
            }
        } catch {
            warn(error, "cannot count the cache's files")
        }
    }

    /// Counts the folders whose sums are not known, a few files at a time, so that others get their turn.
    func countUnknown() {
        guard directory.readOnlyReason == nil, ledger.lastTotal == nil else { return }
        do throws(SystemError) { try count(unknownOnly: true) } catch { warn(error, "cannot count the cache's files") }
    }

    /// Counts folders, a few files at a time.
    func count(unknownOnly: Bool) throws(SystemError) {
        var folder = 0
        while folder < 256 {
            try ledger.change { (change) throws(SystemError) in
                _ = try change.recount(from: &folder, unknownOnly: unknownOnly)
            }
        }
    }

    // MARK: Reading

    /// Opens and checks the entry of a key.
    func entry(for key: CacheKey) -> StoredEntry? {
        let descriptor: Int32
        var beginning: HeldBytes?
        do throws(SystemError) {
            if expectsLarge.load(ordering: .relaxed) {
                descriptor = try open(key.hash)
            } else {
                (descriptor, beginning) = try openAndRead(key.hash)
            }
        } catch {
            if !error.isMissing, !error.isNoFile { warn(error, "cannot read a cache entry; it is fetched instead") }
            return nil
        }
        var kept = false
        defer { if !kept { fileSystem.close(descriptor) } }
        guard let tail = whole(beginning) ?? read(descriptor, hash: key.hash), tail.matches(key), !isTooOld(tail) else {
            return nil
        }
        kept = true
        index.used(key.hash)
        return StoredEntry(key: key, tail: tail, backing: .file(descriptor), isStored: true, volume: self)
    }

    private func openAndRead(_ hash: CacheKey.Hash) throws(SystemError) -> (descriptor: Int32, bytes: HeldBytes) {
        var descriptor: Int32 = -1
        let bytes = try HeldBytes(capacity: EntryReader.first) { (room) throws(SystemError) in
            let opened = try EntryName.withPath(hash) { (path) throws(SystemError) in
                try fileSystem.openAndRead(path, in: directory.root, into: room)
            }
            descriptor = opened.descriptor
            return opened.count
        }
        return (descriptor, bytes)
    }

    /// The entry where those are the bytes of all of it. What does not hold is looked at again with care.
    private func whole(_ bytes: HeldBytes?) -> EntryTail? {
        guard let bytes, bytes.count < EntryReader.first,
            let tail = try? EntryTail(bytes, fileSize: Int64(bytes.count)), tail.kind == .entry
        else { return nil }
        return tail
    }

    /// The entry of that name, whatever its key; not counted as a use. For upkeep.
    func entry(of hash: CacheKey.Hash) -> StoredEntry? {
        guard let descriptor = try? open(hash) else { return nil }
        guard let tail = read(descriptor, hash: hash), tail.hash == hash else {
            fileSystem.close(descriptor)
            return nil
        }
        return StoredEntry(key: tail.key, tail: tail, backing: .file(descriptor), isStored: true, volume: self)
    }

    func open(_ hash: CacheKey.Hash) throws(SystemError) -> Int32 {
        try EntryName.withPath(hash) { (path) throws(SystemError) in
            try fileSystem.open(path, in: directory.root, .read, permissions: 0)
        }
    }

    private func isTooOld(_ tail: EntryTail) -> Bool {
        guard let age = configuration.maximumAge else { return false }
        return cacheTime.seconds(since: tail.cacheTime) > age
    }

    /// The tail of an open entry file; what is damaged is set aside.
    func read(_ descriptor: Int32, hash: CacheKey.Hash) -> EntryTail? {
        do throws(SystemError) {
            let status = try fileSystem.status(of: descriptor)
            guard status.kind == .file else { return nil }
            do throws(EntryTail.Fault) {
                let tail = try EntryReader.read(descriptor, size: status.size, fileSystem)
                guard tail.kind == .entry else { throw .damaged }
                let isLarge = status.size >= EntryReader.first
                if isLarge != expectsLarge.load(ordering: .relaxed) { expectsLarge.store(isLarge, ordering: .relaxed) }
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

    func exists(_ hash: CacheKey.Hash) -> Bool {
        (try? directory.withFolder(of: hash, creates: false) { (folder, name) throws(SystemError) in
            try fileSystem.status(of: name, in: folder).kind == .file
        }) ?? false
    }

    /// What the index holds of a file that it does not know; nil where it is no entry.
    func row(of item: FolderItem, now: Timestamp) -> IndexRow? {
        guard let descriptor = try? open(item.hash) else { return nil }
        defer { fileSystem.close(descriptor) }
        guard let status = try? fileSystem.status(of: descriptor),
            let tail = read(descriptor, hash: item.hash)
        else { return nil }
        guard tail.hash == item.hash else {
            // Somebody put it there under another entry's name: it can never be a hit.
            setAside(item.hash, descriptor)
            return nil
        }
        // From the wall clock to the cache's.
        let ago = max(time.now.seconds(since: item.modified), 0)
        var row = IndexRow(
            tail, bytes: directory.bytesOnDisk(status.size), modified: status.modified,
            lastUse: now.adding(seconds: -ago))
        row.agedFrom = min(row.agedFrom, now)
        return row
    }

    // MARK: Writing

    /// A new temporary file.
    func makeTemporary() -> (descriptor: Int32, name: String)? {
        guard directory.temporary >= 0 else {
            if let reason = directory.readOnlyReason {
                warn(reason, "the cache directory cannot be written to; images load but are not stored")
            }
            return nil
        }
        let name = names.next()
        do throws(SystemError) {
            do throws(SystemError) { return (try createTemporary(name), name) } catch {
                guard makeRoomOnDevice(for: 0, error) else { throw error }
                return (try createTemporary(name), name)
            }
        } catch {
            warn(error, "cannot make a file in the cache; images load but are not stored")
            return nil
        }
    }

    private func createTemporary(_ name: String) throws(SystemError) -> Int32 {
        let permissions = configuration.filePermissions
        let descriptor = try fileSystem.open(name, in: directory.temporary, .create, permissions: permissions)
        // What is more than the owner's was asked for: the process's umask has no say. Where it cannot be set, the
        // file is the owner's alone.
        if permissions != 0o600 { try? fileSystem.changeMode(descriptor, permissions) }
        return descriptor
    }

    func nextTemporaryName() -> String { names.next() }

    func removeTemporary(_ name: String) { try? fileSystem.unlink(name, in: directory.temporary) }

    /// The temporary files whose process has ended.
    ///
    /// - Parameter removes: whether they are removed.
    @discardableResult
    func removeDeadTemporaries(removes: Bool = true) -> [String] {
        guard directory.temporary >= 0 else { return [] }
        var owners: [UInt64: [String]] = [:]
        try? fileSystem.list(directory.temporary) { name in
            let text = String(cString: name)
            if let owner = TemporaryNames.owner(of: text) { owners[owner, default: []].append(text) }
            return true
        }
        var dead: [String] = []
        for (owner, files) in owners where owner != names.owner {
            guard let held = try? locks.tryHold(.owner(owner)) else { continue }
            dead.append(contentsOf: files)
            if removes { for file in files { removeTemporary(file) } }
            held.release()
        }
        return dead
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
        return try buffer.withMutableRawBytes { (bytes) throws(SystemError) in
            let read = try fileSystem.read(source, into: bytes, at: offset)
            try fileSystem.write(target, UnsafeRawBufferPointer(rebasing: bytes[..<read]), at: offset)
            return read
        }
    }

    /// Moves a damaged entry out of the way, where it is still the one that was opened.
    func setAside(_ hash: CacheKey.Hash, _ descriptor: Int32) {
        Quarantine(volume: self).take(hash, descriptor)
    }
}
