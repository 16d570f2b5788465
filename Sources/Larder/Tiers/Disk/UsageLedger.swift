import Glibc

/// Bytes and count of the directory, shared by all processes: the small usage file, changed under a lock that
/// ends with its holder.
///
/// A change first marks the folders that it touches, does its renames and removals, and then writes their new
/// sums. Whoever finds a mark counts that folder anew: its last holder was killed in between.
final class UsageLedger: @unchecked Sendable {
    // Sendable: `descriptor` and `page` are touched only inside `guarded`.
    private let guarded = Lock(())
    private let directory: CacheDirectory
    private let time: any TimeSource
    private let boot: [UInt8]
    private var descriptor: Int32 = -1
    private var page: UsagePage
    /// A copy for readers who do not take the lock.
    private let clock: Lock<UsagePage>

    private static let name = "usage"
    private static let unknownBoot = [UInt8](repeating: 0, count: 16)
    /// A holder that is stopped, not dead, must not hold up others for ever: microseconds.
    private static let patience = 5_000_000

    init(directory: CacheDirectory, time: any TimeSource) {
        self.directory = directory
        self.time = time
        boot = Self.currentBoot(directory.fileSystem)
        let now = time.now
        page = UsagePage(boot: boot, now: now)
        clock = Lock(UsagePage(boot: boot, now: now))
        // Without the lock: a page that is being written fails its checksum, and the first change reads it anew.
        if var page = try? guarded.withLock({ (_) throws(SystemError) in
            try openFile()
            return try readPage()
        }) {
            if !page.boot.elementsEqual(boot) { page.forgetAll() }
            clock.withLock { [page] in $0 = page }
        }
    }

    deinit { if descriptor >= 0 { directory.fileSystem.close(descriptor) } }

    /// What the cache's clock shows.
    var cacheTime: Timestamp {
        let now = time.now
        return clock.withLock { $0.time(at: now) }
    }

    /// Bytes and count of all entries as last seen by this process; nil where not known.
    var lastTotal: (bytes: Int64, count: Int64)? { clock.withLock { $0.total } }

    /// One change of the directory, alone among all threads and processes.
    struct Change {
        fileprivate let ledger: UsageLedger
        var page: UsagePage

        /// Writes the marks of the folders that are about to change.
        mutating func reserve(_ folders: some Sequence<Int>) throws(SystemError) {
            for folder in folders { page.markDirty(folder) }
            try ledger.write(&page)
        }

        /// Counts a folder anew; gives what is in it.
        mutating func recount(_ folder: Int) throws(SystemError) -> [FolderItem] {
            let items = try ledger.directory.entries(in: folder)
            page.set(
                folder, bytes: items.reduce(0 as Int64) { $0.addingSaturated($1.bytes) }, count: items.count)
            return items
        }

        /// Counts folders anew, from `folder` up to `end` and as long as they hold few files together; gives what is in
        /// them. Folders are made under this lock: what is not there holds nothing.
        mutating func recount(
            from folder: inout Int, to end: Int = 256, unknownOnly: Bool = false
        ) throws(SystemError) -> [FolderItem] {
            let present = try ledger.directory.folders()
            var items: [FolderItem] = []
            while folder < end, items.count < UsageLedger.filesAtOnce {
                if !present.contains(folder) {
                    page.set(folder, bytes: 0, count: 0)
                } else if !unknownOnly || !page.isKnown(folder) {
                    items += try recount(folder)
                }
                folder += 1
            }
            return items
        }
    }

    /// Files that are looked at in one change: how long others wait.
    private static let filesAtOnce = 1024

    /// Runs `body` alone. Marked folders are counted anew before.
    ///
    /// - Throws: what `body` throws; EAGAIN where a stopped process holds the lock; or why the usage file cannot be
    ///   used.
    func change<Result>(_ body: (inout Change) throws(SystemError) -> Result) throws(SystemError) -> Result {
        if let reason = directory.readOnlyReason { throw reason }
        return try guarded.withLock { (_) throws(SystemError) in
            try lock()
            defer {
                if !directory.fileSystem.unlock(descriptor, at: 0, count: 1) {
                    directory.fileSystem.close(descriptor)
                    descriptor = -1
                }
            }
            let now = time.now
            if let read = try readPage() {
                page = read
                if !page.boot.elementsEqual(boot) {
                    // A power cut may have lost renames or the last sums: count anew.
                    page.forgetAll()
                    page.setBoot(boot)
                }
            } else {
                let time = clock.withLock { $0.time(at: now) }
                page = UsagePage(boot: boot, now: time)
            }
            page.advanceClock(now)
            var change = Change(ledger: self, page: page)
            for folder in change.page.dirtyFolders { _ = try change.recount(folder) }
            let result = try body(&change)
            change.page.markClean()
            try write(&change.page)
            page = change.page
            clock.withLock { [page] in $0 = page }
            return result
        }
    }

    private func lock() throws(SystemError) {
        var waited = 0
        var step = 10
        while true {
            if descriptor < 0 { try openFile() }
            if try directory.fileSystem.tryLock(descriptor, at: 0, count: 1, shared: false) {
                // Deleted or replaced meanwhile: go on with the one that is there.
                let status = try directory.fileSystem.status(of: descriptor)
                if status.links > 0 { return }
                directory.fileSystem.close(descriptor)
                descriptor = -1
                continue
            }
            guard waited < Self.patience else { throw SystemError(.lock, EAGAIN) }
            usleep(UInt32(step))
            waited += step
            step = min(step * 2, 2000)
        }
    }

    private func openFile() throws(SystemError) {
        guard directory.state >= 0 else { throw directory.readOnlyReason ?? SystemError(.open, EROFS) }
        descriptor = try directory.fileSystem.open(
            Self.name, in: directory.state, directory.readOnlyReason == nil ? .updateOrCreate : .read,
            permissions: 0o600)
    }

    private func readPage() throws(SystemError) -> UsagePage? {
        var bytes = [UInt8](repeating: 0, count: UsagePage.size)
        let count = try bytes.withMutableRawBytes { (buffer) throws(SystemError) in
            try directory.fileSystem.read(descriptor, into: buffer, at: 0)
        }
        return count == bytes.count ? UsagePage(bytes) : nil
    }

    private func write(_ page: inout UsagePage) throws(SystemError) {
        page.seal()
        try page.bytes.withRawBytes { (bytes) throws(SystemError) in
            try directory.fileSystem.write(descriptor, bytes, at: 0)
        }
    }

    /// 16 bytes that differ from boot to boot; zeros where it cannot be told, as without /proc.
    private static func currentBoot(_ fileSystem: any FileSystem) -> [UInt8] {
        var text = [UInt8](repeating: 0, count: 64)
        guard let folder = try? fileSystem.openRoot("/proc/sys/kernel/random") else { return unknownBoot }
        defer { fileSystem.close(folder) }
        guard let file = try? fileSystem.open("boot_id", in: folder, .read, permissions: 0) else { return unknownBoot }
        defer { fileSystem.close(file) }
        let count =
            (try? text.withMutableRawBytes { (buffer) throws(SystemError) in
                try fileSystem.read(file, into: buffer, at: 0)
            }) ?? 0
        return Array(SHA256.digest(Array(text[..<count])).prefix(16))
    }
}

/// One entry file as a listing shows it.
struct FolderItem: Sendable {
    var hash: CacheKey.Hash
    /// Bytes used on disk.
    var bytes: Int64
    var modified: Timestamp
}

extension Int64 {
    func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}

extension CacheDirectory {
    /// The folders of entries that are there.
    func folders() throws(SystemError) -> Set<Int> {
        var present: Set<Int> = []
        try fileSystem.list(root) { name in
            if let folder = EntryName.folder(named: name) { present.insert(folder) }
            return true
        }
        return present
    }

    /// The entries in a folder by name and status; nothing else that lies there is looked at.
    func entries(in folder: Int) throws(SystemError) -> [FolderItem] {
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try fileSystem.open(EntryName.folderName(folder), in: root, .directory, permissions: 0)
        } catch {
            // A link or a file in the folder's place holds no entries of ours either.
            if error.isMissing || error.code == ELOOP { return [] }
            throw error
        }
        defer { fileSystem.close(descriptor) }
        var items: [FolderItem] = []
        var failure: SystemError?
        try fileSystem.list(descriptor) { name in
            guard let hash = EntryName.hash(folder: folder, name: name) else { return true }
            do throws(SystemError) {
                let status = try fileSystem.status(of: name, in: descriptor)
                guard status.kind == .file else { return true }
                items.append(
                    FolderItem(hash: hash, bytes: bytesOnDisk(status.size), modified: status.modified))
            } catch {
                if !error.isMissing { failure = error }
            }
            return failure == nil
        }
        if let failure { throw failure }
        return items
    }
}
