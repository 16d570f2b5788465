import Foundation

/// The thread that writes the index: batches, upkeep, and the comparison of index and files.
final class IndexWriter: @unchecked Sendable {
    // Sendable: made on one thread and then used by its own thread alone; what it shares is Sendable itself.
    let index: EntryIndex
    let generation: IndexGeneration
    let volume: Volume
    private var database: IndexDatabase?
    private(set) var name: String?
    private var lastOrder = Int64.min
    /// What the low bits of an order are made of: the system's generator would be a call each.
    private var scatter = UInt64.random(in: .min ... .max)
    private var nextUpkeep: UInt64 = 0
    /// After a fault: when to try again, so that a full disk is not hammered.
    private var notBefore: UInt64 = 0

    private static let upkeepInterval: UInt64 = 60_000_000_000
    private static let pauseAfterFault: UInt64 = 5_000_000_000
    /// Index and files are compared this often, in seconds of the cache's clock.
    private static let reconcileInterval: Int64 = 86_400
    /// Failures that are remembered at most.
    private static let failureLimit: Int64 = 10_000

    init(index: EntryIndex, generation: IndexGeneration, volume: Volume) {
        self.index = index
        self.generation = generation
        self.volume = volume
    }

    private enum Work {
        case changes, count, upkeep, reconcile, complete, stop
    }

    func run() {
        if volume.directory.readOnlyReason == nil {
            volume.removeDeadTemporaries()
            openIndex()
            index.markOpened()
            count()
            if needsReconcile { reconcile(waits: false) }
        } else {
            openForReading()
            index.markOpened()
        }
        loop: while true {
            switch nextWork() {
            case .changes: writePending()
            case .count: count()
            case .reconcile:
                writePending()
                let asked = index.pending.read { $0.reconcilesAsked }
                reconcile(waits: true)
                index.pending.update { pending in
                    pending.reconcilesDone = max(pending.reconcilesDone, asked)
                    return true
                }
            case .complete:
                writePending()
                if !index.isComplete { reconcile(waits: true) }
                index.pending.update { pending in
                    pending.wantsAll = false
                    return true
                }
            case .upkeep: upkeep()
            case .stop:
                notBefore = 0
                writePending()
                break loop
            }
        }
        database = nil
        index.pending.update { pending in
            pending.stopped = true
            return true
        }
    }

    private func nextWork() -> Work {
        let upkeepAt = nextUpkeep
        let faultUntil = notBefore
        return index.pending.wait { pending in
            let now = Signal<Void>.now
            if pending.stops { return (.stop, nil) }
            if pending.wantsCount { return (.count, nil) }
            if pending.reconcilesAsked > pending.reconcilesDone { return (.reconcile, nil) }
            if pending.wantsAll { return (.complete, nil) }
            if pending.flushesAsked > pending.flushesDone { return (.changes, nil) }
            if now >= upkeepAt { return (.upkeep, nil) }
            guard let since = pending.since else { return (nil, upkeepAt) }
            let due = max(pending.changes.count >= EntryIndex.batch ? 0 : since + EntryIndex.delay, faultUntil)
            return due <= now ? (.changes, nil) : (nil, min(due, upkeepAt))
        }
    }

    private func count() {
        volume.countUnknown()
        index.pending.update { pending in
            pending.wantsCount = false
            return false
        }
    }

    var isStopping: Bool { index.pending.read { $0.stops } }

    // MARK: Opening

    private func openForReading() {
        guard let name = generation.current(), let database = try? generation.open(name),
            let complete = try? database.meta("complete")
        else { return }
        index.state.withLock { $0 = .init(name: name, isComplete: complete != 0) }
    }

    /// Opens the index that is named, or names a new one where that is missing or of no use.
    private func openIndex() {
        database = nil
        var found = generation.current()
        for _ in 0..<2 {
            do {
                let name: String
                if let found { name = found } else { name = try generation.replace(nil) }
                // Under the lock, so that it is not deleted between the look and the opening.
                let held = try volume.locks.hold(.generation, shared: true)
                defer { held.release() }
                let database = try generation.open(name)
                let complete = try database.meta("complete")
                self.database = database
                self.name = name
                index.state.withLock { $0 = .init(name: name, isComplete: complete != 0) }
                return
            } catch let failure as IndexDatabase.Failure where failure.isFatal {
                found = try? generation.replace(found)
            } catch {
                giveUp(error)
                return
            }
        }
        giveUp(IndexDatabase.Failure(code: 0, message: "the index cannot be opened"))
    }

    private func giveUp(_ error: any Error) {
        database = nil
        index.state.withLock { $0 = .init() }
        notBefore = Signal<Void>.now + Self.pauseAfterFault
        if let failure = error as? IndexDatabase.Failure, let code = failure.systemCode {
            // The same fault as the files': one warning for both.
            return volume.warn(SystemError(.write, code), "the cache's index cannot be written")
        }
        if let error = error as? SystemError { return volume.warn(error, "the cache's index cannot be written") }
        volume.warner.warn(about: 1, "the cache's index cannot be written; images are cached without it (\(error))")
    }

    // MARK: Batches

    /// Writes what is pending, if anything; what cannot be written is put back.
    func writePending() {
        let (changes, asked) = index.pending.read { pending -> (IndexChanges, Int) in
            let changes = pending.changes
            pending.changes = .init()
            pending.since = nil
            pending.writing = changes
            return (changes, pending.flushesAsked)
        }
        var written = changes.isEmpty
        if !written, volume.directory.readOnlyReason == nil, Signal<Void>.now >= notBefore {
            if database == nil { openIndex() }
            for _ in 0..<2 where !written && database != nil { written = write(changes) }
        }
        index.pending.update { pending in
            pending.writing = .init()
            if !written, volume.directory.readOnlyReason == nil {
                pending.changes.putBack(changes)
                pending.since = Signal<Void>.now
            }
            pending.flushesDone = max(pending.flushesDone, asked)
            return true
        }
    }

    private func write(_ changes: IndexChanges) -> Bool {
        var unknown: [CacheKey.Hash] = []
        let done = batch { (database) throws(IndexDatabase.Failure) in
            unknown = []
            let hasFailures = try database.number("SELECT EXISTS(SELECT 1 FROM failures)") != 0
            for (hash, change) in changes.sorted {
                switch change {
                case .used: if try !use(hash, database) { unknown.append(hash) }
                case .stored(let row):
                    try store(row, database)
                    if hasFailures { try database.run("DELETE FROM failures WHERE id=?", [.integer(hash.id)]) }
                case .removed:
                    try database.run(
                        "DELETE FROM entries WHERE id=? AND low=?", [.integer(hash.id), .integer(hash.lowBits)])
                }
            }
            if changes.forgetsFailures { try database.run("DELETE FROM failures") }
            for (hash, failed) in changes.failures {
                try database.run(
                    "INSERT OR REPLACE INTO failures(id, low, code, url, since, until) VALUES(?, ?, ?, ?, ?, ?)",
                    [
                        .integer(hash.id), .integer(hash.lowBits), .text(failed.code),
                        .text(failed.url), .integer(failed.since.milliseconds), .integer(failed.until.milliseconds),
                    ])
            }
        }
        volume.victims.discard(changes.entries.keys)
        if done, !unknown.isEmpty {
            let now = volume.ledger.cacheTime
            adopt(unknown.map { FolderItem(hash: $0, bytes: 0, modified: now) })
        }
        return done
    }

    /// One transaction on the database that is the index at that moment. False where it failed; then the index was
    /// opened anew or given up.
    func batch(_ body: (IndexDatabase) throws(IndexDatabase.Failure) -> Void) -> Bool {
        do {
            let held = try volume.locks.hold(.generation, shared: true)
            defer { held.release() }
            if let database, generation.current() == name {
                try database.transaction { () throws(IndexDatabase.Failure) in try body(database) }
                return true
            }
        } catch let failure as IndexDatabase.Failure where failure.isFatal {
            database = nil
            _ = try? generation.replace(name)
        } catch {
            giveUp(error)
            return false
        }
        openIndex()
        if database != nil, !index.isComplete { nextUpkeep = 0 }
        return false
    }

    private func use(_ hash: CacheKey.Hash, _ database: IndexDatabase) throws(IndexDatabase.Failure) -> Bool {
        guard volume.configuration.eviction.movesOnUse else { return true }
        while true {
            do throws(IndexDatabase.Failure) {
                try database.run(
                    "UPDATE entries SET seq=? WHERE id=? AND low=?",
                    [.integer(nextOrder()), .integer(hash.id), .integer(hash.lowBits)])
                return database.changes > 0
            } catch {
                guard error.isConstraint else { throw error }
            }
        }
    }

    private func store(_ row: IndexRow, _ database: IndexDatabase) throws(IndexDatabase.Failure) {
        while true {
            do throws(IndexDatabase.Failure) {
                try database.run(Self.upsert, row.values(seq: nextOrder()))
                break
            } catch {
                // Another process took that place in the order.
                guard error.isConstraint else { throw error }
            }
        }
    }

    private static let insert = """
        INSERT INTO entries(\(IndexRow.columns)) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    private static let upsert = """
        \(insert) ON CONFLICT(id) DO UPDATE SET seq=excluded.seq, low=excluded.low, bytes=excluded.bytes,
            length=excluded.length, stored=excluded.stored, aged=excluded.aged, expires=excluded.expires,
            modified=excluded.modified, private=excluded.private, url=excluded.url, variant=excluded.variant, format=excluded.format,
            width=excluded.width, height=excluded.height
        """
    private static let insertMissing = "\(insert) ON CONFLICT(id) DO NOTHING"

    /// The next place at the end of the order.
    private func nextOrder() -> Int64 {
        let now = UseOrder.number(volume.ledger.cacheTime, lowBits())
        lastOrder = now > lastOrder ? now : lastOrder + 1
        return lastOrder
    }

    /// 19 bits, so that two processes seldom want the same place.
    private func lowBits() -> Int64 {
        scatter = scatter &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int64(scatter >> 45)
    }

    // MARK: Adoption

    /// Enters entries that the index does not know, in the order of their last use. What is damaged is set aside.
    /// False where the index could not be written.
    @discardableResult
    func adopt(_ items: [FolderItem]) -> Bool {
        var rows: [IndexRow] = []
        let now = volume.ledger.cacheTime
        for item in items {
            guard let row = volume.row(of: item, now: now) else { continue }
            rows.append(row)
        }
        guard !rows.isEmpty else { return true }
        defer { index.state.withLock { $0.entered += rows.count } }
        return batch { (database) throws(IndexDatabase.Failure) in
            for row in rows {
                var order = UseOrder.number(row.lastUse ?? now, lowBits())
                while true {
                    do throws(IndexDatabase.Failure) {
                        try database.run(Self.insertMissing, row.values(seq: order))
                        break
                    } catch {
                        guard error.isConstraint else { throw error }
                        order += 1
                    }
                }
            }
        }
    }

    /// Writes what has become due in the midst of long work; false where the work must end.
    func breathe() -> Bool {
        let (stops, due, wantsCount) = index.pending.read { pending -> (Bool, Bool, Bool) in
            let late = pending.since.map { Signal<Void>.now >= $0 + EntryIndex.delay } ?? false
            let asked = pending.flushesAsked > pending.flushesDone
            let many = pending.changes.count >= EntryIndex.batch
            return (pending.stops, late || asked || many, pending.wantsCount)
        }
        if stops { return false }
        if wantsCount { count() }
        if due { writePending() }
        return database != nil
    }

    private var needsReconcile: Bool {
        guard let total = volume.ledger.lastTotal, let database, index.isComplete else { return true }
        guard let rows = try? database.number("SELECT count(*) FROM entries"),
            let last = try? database.meta("reconciled")
        else { return true }
        let age = volume.ledger.cacheTime.seconds(since: Timestamp(milliseconds: last))
        return rows != total.count || age > Self.reconcileInterval || age < 0
    }

    /// Whether files have gone or come that nobody entered: by far more than what is on its way in other processes.
    private var isAstray: Bool {
        guard let total = volume.ledger.lastTotal, let rows = try? database?.number("SELECT count(*) FROM entries")
        else { return false }
        return abs(rows - total.count) > 1024 + total.count / 64
    }

    private func reconcile(waits: Bool) {
        if database == nil { openIndex() }
        Reconciler(writer: self).run(waits: waits)
    }

    /// Reads from the database that is open; false where that is not possible.
    func read(_ body: (IndexDatabase) throws(IndexDatabase.Failure) -> Void) -> Bool {
        guard let database else { return false }
        do throws(IndexDatabase.Failure) {
            try body(database)
            return true
        } catch {
            return false
        }
    }

    func finishReconcile() {
        let now = volume.ledger.cacheTime
        let done = batch { (database) throws(IndexDatabase.Failure) in
            try database.setMeta("complete", 1)
            try database.setMeta("reconciled", now.milliseconds)
        }
        if done { index.state.withLock { $0.isComplete = true } }
    }

    // MARK: Upkeep

    private func upkeep() {
        nextUpkeep = Signal<Void>.now + Self.upkeepInterval
        guard volume.directory.readOnlyReason == nil else { return }
        volume.removeDeadTemporaries()
        if database == nil, Signal<Void>.now >= notBefore { openIndex() }
        if volume.ledger.lastTotal == nil || database != nil && (!index.isComplete || isAstray) {
            reconcile(waits: false)
        }
        if let age = volume.configuration.maximumAge {
            volume.remove(olderThan: age) {
                writePending()
                return breathe()
            }
        }
        let limits = volume.configuration
        volume.trim(bytes: limits.maximumBytes, count: limits.maximumCount, flush: false) { breathe() }
        let now = volume.time.now
        guard database != nil else { return }
        _ = batch { (database) throws(IndexDatabase.Failure) in
            try database.run("DELETE FROM failures WHERE until <= ?", [.integer(now.milliseconds)])
            let count = try database.number("SELECT count(*) FROM failures")
            guard count > Self.failureLimit else { return }
            try database.run(
                "DELETE FROM failures WHERE id IN (SELECT id FROM failures ORDER BY until LIMIT ?)",
                [.integer(count - Self.failureLimit)])
        }
    }
}
