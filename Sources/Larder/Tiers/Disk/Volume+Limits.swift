import Glibc

/// What changes the number of entries: each in one change of the ledger, so that the limits hold for all processes.
extension Volume {
    private enum Outcome {
        case stored
        /// Another entry than the one that was revalidated is in its place.
        case superseded
        /// The total is not known yet.
        case unknown
        /// Not enough could be removed: nothing is known that may go.
        case noVictims
        /// A batch was removed, and more must be.
        case again
    }

    /// Entries removed in one change: how long others wait.
    private static let evictionBatch = 16
    /// Changes that one commit tries: beyond that the directory is far over its limits and is trimmed elsewhere.
    private static let attempts = 8
    /// How long commits wait for the first count of a directory, all together and once a minute, in nanoseconds.
    private static let countingTime: UInt64 = 250_000_000
    private static let minute: UInt64 = 60_000_000_000
    /// What is removed at least where the device is full, in bytes, and in how many changes at most.
    private static let leastRoom: Int64 = 1 << 20
    private static let roomBatches = 8

    /// Puts a complete temporary file in its entry's place and makes room for it; false where it may not be stored.
    func publish(
        _ name: String, _ hash: CacheKey.Hash, _ descriptor: Int32, tail: EntryTail, replacing: FileStatus?
    ) -> Bool {
        var attempt = 0
        var madeRoom = false
        do throws(SystemError) {
            let status = try fileSystem.status(of: descriptor)
            let bytes = directory.bytesOnDisk(status.size)
            guard bytes <= configuration.maximumBytes, configuration.maximumCount >= 1 else { return false }
            while attempt < Self.attempts {
                let outcome: Outcome
                do throws(SystemError) { outcome = try place(name, hash, bytes, replacing) } catch {
                    guard !madeRoom, makeRoomOnDevice(for: bytes, error) else { throw error }
                    madeRoom = true
                    continue
                }
                switch outcome {
                case .stored:
                    index.stored(IndexRow(tail, bytes: bytes, modified: status.modified))
                    return true
                case .superseded: return false
                case .again: attempt += 1
                case .noVictims:
                    attempt += 1
                    guard try findVictims(flush: true) else { return false }
                case .unknown:
                    index.askForCount()
                    guard mayAwaitCount() else { return false }
                    usleep(5000)
                }
            }
            return false
        } catch {
            warn(error, "cannot put an entry in its place; images load but are not stored")
            return false
        }
    }

    /// Looks for more that may go. Where nothing is left though the total is over the limits, others have removed files
    /// of ours: it is counted anew. False where neither helps.
    private func findVictims(flush: Bool) throws(SystemError) -> Bool {
        if victims.refill(index, directory, flush: flush) { return true }
        guard let before = ledger.lastTotal else { return false }
        try count(unknownOnly: false)
        return ledger.lastTotal.map { $0.count < before.count || $0.bytes < before.bytes } ?? false
    }

    /// A large directory takes seconds to be counted: the first commits wait for a small one, and no other does.
    private func mayAwaitCount() -> Bool {
        if index.pending.read({ $0.stops }) { return false }
        let now = Signal<Void>.now
        return countAwaited.withLock { until in
            if until.map({ now > $0 + Self.minute }) ?? true { until = now + Self.countingTime }
            return until.map { now < $0 } ?? false
        }
    }

    /// Where the device is full though the cache is within its limits: removes the least recently used, so that one
    /// more try may succeed. False where that is not the fault, or nothing went.
    ///
    /// - Parameter bytes: what must fit.
    func makeRoomOnDevice(for bytes: Int64, _ error: SystemError) -> Bool {
        guard error.isFull, let total = ledger.lastTotal, total.count > 0 else { return false }
        warn(error, "the disk is full; older images leave the cache early")
        // One that is larger than the device must not cost the whole cache.
        let wanted = max(min(bytes, total.bytes / 8), Self.leastRoom)
        var batches = 0
        let gone = trim(bytes: max(0, total.bytes - wanted), count: total.count - 1, flush: true) {
            batches += 1
            return batches <= Self.roomBatches
        }
        return gone > 0
    }

    private func place(
        _ name: String, _ hash: CacheKey.Hash, _ size: Int64, _ replacing: FileStatus?
    ) throws(SystemError) -> Outcome {
        var leaving = Leaving(fileSystem)
        defer { leaving.close() }
        return try ledger.change { (change) throws(SystemError) in
            guard let total = change.page.total else { return .unknown }
            return try directory.withFolder(of: hash, creates: true) { (folder, file) throws(SystemError) in
                // Only a file was counted; what else stands in its place is none of ours.
                let found = try status(of: file, in: folder)
                let old = found?.kind == .file ? found : nil
                if let replacing, let old, !old.isSame(as: replacing) { return .superseded }
                let oldBytes = old.map { directory.bytesOnDisk($0.size) } ?? 0
                let gathered = gather(
                    (total.bytes - oldBytes + size, total.count + (old == nil ? 1 : 0)), sparing: hash,
                    (configuration.maximumBytes, configuration.maximumCount))
                let (removals, outcome) = gathered
                for removal in removals { leaving.hold(removal) }
                let own = EntryName.folder(hash)
                try change.reserve(removals.map { EntryName.folder($0.hash) } + (outcome == .stored ? [own] : []))
                for removal in removals { try remove(removal, &change) }
                if outcome == .stored {
                    if old != nil { leaving.hold(file, in: folder) }
                    try fileSystem.rename(name, in: directory.temporary, to: file, in: folder)
                    change.page.add(own, bytes: size - oldBytes, count: old == nil ? 1 : 0)
                }
                return outcome
            }
        }
    }

    /// Opens as many of the least recently used as must go for the total to come within the limits, a batch at most.
    private func gather(
        _ total: (bytes: Int64, count: Int64), sparing hash: CacheKey.Hash?, _ limits: (bytes: Int64, count: Int64)
    ) -> (removals: [Removal], outcome: Outcome) {
        var (bytes, count) = total
        var removals: [Removal] = []
        while bytes > limits.bytes || count > limits.count {
            guard removals.count < Self.evictionBatch else { return (removals, .again) }
            guard let candidate = victims.next() else { return (removals, .noVictims) }
            guard candidate.hash != hash, case .ready(let removal) = removal(of: candidate) else { continue }
            removals.append(removal)
            bytes -= removal.bytes
            count -= 1
        }
        return (removals, .stored)
    }

    private func status(of name: UnsafePointer<CChar>, in folder: Int32) throws(SystemError) -> FileStatus? {
        do throws(SystemError) { return try fileSystem.status(of: name, in: folder) } catch {
            if error.isMissing { return nil }
            throw error
        }
    }

    /// An entry that is about to be removed, its folder held open.
    private struct Removal {
        let hash: CacheKey.Hash
        let folder: Int32
        let bytes: Int64
    }

    /// What is held open until the ledger's lock is given back: the folders of entries that go, and their files. A file
    /// that is on its way to the device goes no sooner than it is there, which may take seconds: its last descriptor's
    /// close waits for that, and nobody else.
    private struct Leaving {
        private let fileSystem: any FileSystem
        private var descriptors: [Int32] = []

        init(_ fileSystem: any FileSystem) { self.fileSystem = fileSystem }

        mutating func hold(_ removal: Removal) {
            descriptors.append(removal.folder)
            EntryName.withParts(removal.hash) { _, name in hold(name, in: removal.folder) }
        }

        mutating func hold(_ name: UnsafePointer<CChar>, in folder: Int32) {
            if let file = try? fileSystem.open(name, in: folder, .read, permissions: 0) { descriptors.append(file) }
        }

        mutating func close() {
            for descriptor in descriptors { fileSystem.close(descriptor) }
            descriptors = []
        }
    }

    private enum Removability {
        case ready(Removal)
        /// Its file has gone: the row goes as well.
        case gone
        /// It was used or written since.
        case stays
    }

    private func removal(of candidate: EvictionCandidate, evenUsed: Bool = false) -> Removability {
        // Without an index there is no order that a pending change could alter.
        if !evenUsed, index.isComplete, index.hasPending(candidate.hash) { return .stays }
        let found = EntryName.withParts(candidate.hash) { folder, name -> Removability in
            let descriptor: Int32
            do throws(SystemError) {
                descriptor = try fileSystem.open(folder, in: directory.root, .directory, permissions: 0)
            } catch {
                return error.isMissing || error.code == ELOOP ? .gone : .stays
            }
            do throws(SystemError) {
                let status = try fileSystem.status(of: name, in: descriptor)
                if status.kind == .file, evenUsed || !wasJustWritten(status, since: candidate) {
                    let bytes = directory.bytesOnDisk(status.size)
                    return .ready(Removal(hash: candidate.hash, folder: descriptor, bytes: bytes))
                }
                fileSystem.close(descriptor)
                return status.kind == .file ? .stays : .gone
            } catch {
                fileSystem.close(descriptor)
                return error.isMissing ? .gone : .stays
            }
        }
        if case .gone = found { index.removed(candidate.hash) }
        return found
    }

    /// Whether it was replaced a moment ago by another process whose row is still on its way: then it is not the
    /// oldest. A file that differs for longer may go: the row was lost with its process.
    private func wasJustWritten(_ status: FileStatus, since candidate: EvictionCandidate) -> Bool {
        guard status.modified != candidate.modified else { return false }
        let age = time.now.milliseconds.addingSaturated(-status.modified.milliseconds)
        return (-10_000...10_000).contains(age)
    }

    private func remove(_ removal: Removal, _ change: inout UsageLedger.Change) throws(SystemError) {
        try EntryName.withParts(removal.hash) { (_, name) throws(SystemError) in
            do throws(SystemError) {
                try fileSystem.unlink(name, in: removal.folder)
            } catch {
                if !error.isMissing { throw error }
            }
        }
        change.page.add(EntryName.folder(removal.hash), bytes: -removal.bytes, count: -1)
        index.removed(removal.hash)
    }

    /// Removes entries; gives how many files and rows went.
    ///
    /// - Parameter evenUsed: whether what was used or written since goes as well.
    @discardableResult
    func evict(_ candidates: [EvictionCandidate], evenUsed: Bool = false) -> Int {
        var gone = 0
        do throws(SystemError) {
            var rest = candidates[...]
            while !rest.isEmpty {
                let batch = rest.prefix(Self.evictionBatch)
                rest = rest.dropFirst(Self.evictionBatch)
                var leaving = Leaving(fileSystem)
                defer { leaving.close() }
                try ledger.change { (change) throws(SystemError) in
                    var removals: [Removal] = []
                    for candidate in batch {
                        switch removal(of: candidate, evenUsed: evenUsed) {
                        case .ready(let removal):
                            removals.append(removal)
                            leaving.hold(removal)
                        case .gone: gone += 1
                        case .stays: break
                        }
                    }
                    try change.reserve(removals.map { EntryName.folder($0.hash) })
                    for removal in removals { try remove(removal, &change) }
                    gone += removals.count
                }
            }
        } catch {
            warn(error, "cannot remove entries from the cache")
        }
        return gone
    }

    /// Removes the least recently used, in batches, until no more than that is left; gives how many went.
    ///
    /// - Parameters:
    ///   - flush: whether the index may be waited for: not on its own thread.
    ///   - goesOn: asked between batches.
    @discardableResult
    func trim(bytes: Int64, count: Int64, flush: Bool, _ goesOn: () -> Bool) -> Int {
        var gone = 0
        var idle = 0
        while idle < 3, goesOn() {
            do throws(SystemError) {
                var leaving = Leaving(fileSystem)
                defer { leaving.close() }
                let (went, outcome) = try ledger.change { (change) throws(SystemError) in
                    guard let total = change.page.total else { return (0, Outcome.unknown) }
                    let (removals, outcome) = gather(total, sparing: nil, (bytes, count))
                    for removal in removals { leaving.hold(removal) }
                    try change.reserve(removals.map { EntryName.folder($0.hash) })
                    for removal in removals { try remove(removal, &change) }
                    return (removals.count, outcome)
                }
                gone += went
                idle = went > 0 ? 0 : idle + 1
                switch outcome {
                case .again: break
                case .noVictims:
                    guard try findVictims(flush: flush) else { return gone }
                case .stored, .superseded, .unknown: return gone
                }
            } catch {
                warn(error, "cannot remove entries from the cache")
                return gone
            }
        }
        return gone
    }

    /// Removes what is older than that, oldest first; `goesOn` is asked between batches, and lets the index learn of
    /// what went.
    @discardableResult
    func remove(olderThan age: Int64, _ goesOn: () -> Bool) -> Int {
        var gone = 0
        while true {
            let limit = cacheTime.adding(seconds: -age)
            guard let old = index.storedBefore(limit, limit: 4 * Self.evictionBatch), !old.isEmpty else {
                return gone
            }
            let went = evict(old)
            gone += went
            guard went > 0, goesOn() else { return gone }
        }
    }

    /// Removes one entry, whatever it holds.
    func remove(_ hash: CacheKey.Hash) {
        var leaving = Leaving(fileSystem)
        defer { leaving.close() }
        do throws(SystemError) {
            try ledger.change { (change) throws(SystemError) in
                try directory.withFolder(of: hash, creates: false) { (folder, name) throws(SystemError) in
                    let status = try fileSystem.status(of: name, in: folder)
                    guard status.kind == .file else { return }
                    leaving.hold(name, in: folder)
                    try change.reserve([EntryName.folder(hash)])
                    try fileSystem.unlink(name, in: folder)
                    change.page.add(
                        EntryName.folder(hash), bytes: -directory.bytesOnDisk(status.size), count: -1)
                }
            }
        } catch {
            if !error.isMissing { warn(error, "cannot remove a cache entry") }
        }
        index.removed(hash)
    }
}
