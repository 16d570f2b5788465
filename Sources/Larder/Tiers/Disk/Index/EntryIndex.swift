import Foundation

/// The index of a directory: what is used, stored and removed goes to it in batches, at most a second or 256
/// changes behind, from a thread of its own. Nothing of a hit waits for it, and where it fails the entries go on.
final class EntryIndex: Sendable {
    struct Pending {
        var changes = IndexChanges()
        /// Monotonic nanoseconds of the first of them.
        var since: UInt64?
        /// What the writer has in hand.
        var writing = IndexChanges()
        var flushesAsked = 0
        var flushesDone = 0
        var reconcilesAsked = 0
        var reconcilesDone = 0
        /// Somebody waits for an index that knows every entry.
        var wantsAll = false
        /// A commit waits for the total to be known.
        var wantsCount = false
        /// The thread has looked for the index.
        var opened = false
        var stops = false
        var stopped = false
    }

    static let batch = 256
    static let delay: UInt64 = 1_000_000_000

    let pending = Signal(Pending())
    /// The database that is open, and whether it knows every entry.
    let state = Lock<State>(State())
    private let reader = Lock<Reader?>(nil)
    private let noFailures = Lock(NoFailures())
    private let generation: IndexGeneration

    struct State {
        var name: String?
        var isComplete = false
        /// Entries that were entered since it was opened, to be shown as progress.
        var entered = 0
    }

    /// That no failure is remembered is the rule, and believed for as long as changes may take to be written: most images
    /// are then not asked for in the database.
    private struct NoFailures {
        /// Monotonic nanoseconds.
        var until: UInt64 = 0
        /// Failures that were noted here.
        var noted = 0
    }

    private struct Reader {
        let name: String
        let database: IndexDatabase
    }

    init(generation: IndexGeneration) { self.generation = generation }

    /// Starts the thread that writes.
    func start(_ writer: IndexWriter) {
        let thread = Thread { writer.run() }
        thread.name = "larder.index"
        thread.stackSize = 1 << 20
        thread.start()
    }

    // MARK: Changes

    func used(_ hash: CacheKey.Hash) { note { $0.note(hash, .used) } }
    func stored(_ row: IndexRow) { note { $0.note(row.hash, .stored(row)) } }
    func removed(_ hash: CacheKey.Hash) { note { $0.note(hash, .removed) } }
    func failed(_ hash: CacheKey.Hash, _ failed: IndexChanges.Failed) {
        note { $0.note(hash, failed: failed) }
        noFailures.withLock { $0 = .init(until: 0, noted: $0.noted + 1) }
    }

    func forgetFailures() { note { $0.forgetFailures() } }

    private func note(_ change: (inout IndexChanges) -> Void) {
        pending.update { pending in
            guard !pending.stops else { return false }
            change(&pending.changes)
            let isFirst = pending.since == nil
            if isFirst { pending.since = Signal<Void>.now }
            return isFirst || pending.changes.count == Self.batch
        }
    }

    /// Whether a change of that entry is still on its way: it is no candidate for eviction.
    func hasPending(_ hash: CacheKey.Hash) -> Bool {
        pending.read { $0.changes.entries[hash] != nil || $0.writing.entries[hash] != nil }
    }

    /// Returns when all changes so far are written, or were given up.
    func flush() {
        let ticket = pending.read { pending -> Int? in
            guard !pending.stops else { return nil }
            pending.flushesAsked += 1
            return pending.flushesAsked
        }
        guard let ticket else { return }
        pending.update { _ in true }
        pending.wait { ($0.flushesDone >= ticket || $0.stopped ? () : nil, nil) }
    }

    /// Has the thread count what is not known.
    func askForCount() {
        pending.update { pending in
            defer { pending.wantsCount = true }
            return !pending.wantsCount
        }
    }

    /// Compares index and files, and returns when that is done or cannot be.
    func reconcile() {
        let ticket = pending.read { pending -> Int? in
            guard !pending.stops else { return nil }
            pending.reconcilesAsked += 1
            return pending.reconcilesAsked
        }
        guard let ticket else { return }
        pending.update { _ in true }
        pending.wait { ($0.reconcilesDone >= ticket || $0.stopped ? () : nil, nil) }
    }

    /// Waits until the index knows every entry, or that cannot be; false where `goesOn` ended it. `goesOn` is asked
    /// ten times a second, with how many were entered.
    func complete(_ goesOn: (Int) -> Bool) -> Bool {
        if isComplete { return true }
        pending.update { pending in
            pending.wantsAll = !pending.stops
            return true
        }
        while true {
            let next = Signal<Void>.now + 100_000_000
            let isDone = pending.wait { pending -> (Bool?, UInt64?) in
                if !pending.wantsAll || pending.stopped { return (true, nil) }
                return (Signal<Void>.now >= next ? false : nil, next)
            }
            if isDone || isComplete { return true }
            guard goesOn(state.withLock { $0.entered }) else { return false }
        }
    }

    /// Writes what is pending and ends the thread.
    func close() {
        pending.update { pending in
            pending.stops = true
            return true
        }
        pending.wait { ($0.stopped ? () : nil, nil) }
        reader.withLock { $0 = nil }
    }

    // MARK: Reading

    func markOpened() {
        pending.update { pending in
            pending.opened = true
            return true
        }
    }

    private func waitUntilOpened() {
        let deadline = Signal<Void>.now + 500_000_000
        let _: Bool = pending.wait { pending in
            let ends = pending.opened || pending.stopped || Signal<Void>.now >= deadline
            return (ends ? true : nil, deadline)
        }
    }

    /// Runs `body` on a connection for reading; nil where the index cannot be read. Waits for the index to be
    /// opened, half a second at most; not for use on its own thread before that.
    func read<Result>(_ body: (IndexDatabase) throws(IndexDatabase.Failure) -> Result) -> Result? {
        waitUntilOpened()
        guard let name = state.withLock({ $0.name }) else { return nil }
        return reader.withLock { reader in
            do throws(IndexDatabase.Failure) {
                if reader?.name != name {
                    reader = nil
                    reader = Reader(name: name, database: try generation.open(name))
                }
                guard let database = reader?.database else { return nil }
                return try body(database)
            } catch {
                reader = nil
                return nil
            }
        }
    }

    /// Whether it knows every entry, but for the last second's.
    var isComplete: Bool { state.withLock { $0.isComplete } }

    /// The entries that were not used for longest, after a place in that order; nil where the index does not know.
    func leastUsed(after order: Int64, limit: Int) -> [EvictionCandidate]? {
        guard isComplete else { return nil }
        return read { (database) throws(IndexDatabase.Failure) in
            var found: [EvictionCandidate] = []
            try database.run(
                "SELECT seq, id, low, modified FROM entries WHERE seq > ? ORDER BY seq LIMIT ?",
                [.integer(order), .integer(Int64(limit))]
            ) { row in
                found.append(
                    EvictionCandidate(
                        hash: CacheKey.Hash(id: row.integer(1), low: row.integer(2)), order: row.integer(0),
                        modified: Timestamp(milliseconds: row.integer(3))))
                return true
            }
            return found
        }
    }

    /// The entries stored or revalidated before a time, oldest first; nil where the index does not know.
    func storedBefore(_ time: Timestamp, limit: Int) -> [EvictionCandidate]? {
        guard isComplete else { return nil }
        return read { (database) throws(IndexDatabase.Failure) in
            var found: [EvictionCandidate] = []
            // Made where it is needed first: every commit would pay for it, and few caches have a limit of age.
            try database.execute("CREATE INDEX IF NOT EXISTS by_age ON entries(aged)")
            try database.run(
                "SELECT id, low, modified FROM entries WHERE aged < ? ORDER BY aged LIMIT ?",
                [.integer(time.milliseconds), .integer(Int64(limit))]
            ) { row in
                found.append(
                    EvictionCandidate(
                        hash: CacheKey.Hash(id: row.integer(0), low: row.integer(1)), order: 0,
                        modified: Timestamp(milliseconds: row.integer(2))))
                return true
            }
            return found
        }
    }

    /// A failure that is remembered, whether or not it still holds.
    func failure(_ hash: CacheKey.Hash) -> IndexChanges.Failed? {
        let now = Signal<Void>.now
        let belief = noFailures.withLock { $0 }
        let (known, isAll, isEmpty) = pending.read { pending in
            (
                pending.changes.failures[hash] ?? pending.writing.failures[hash],
                pending.changes.forgetsFailures || pending.writing.forgetsFailures,
                pending.changes.failures.isEmpty && pending.writing.failures.isEmpty
            )
        }
        if known != nil || isAll { return known }
        if isEmpty, now < belief.until { return nil }
        // A new directory remembers nothing, and its index takes a moment to be made.
        if !pending.read(\.opened), generation.current() == nil { return nil }
        return read { (database) throws(IndexDatabase.Failure) in
            if try database.number("SELECT EXISTS(SELECT 1 FROM failures)") == 0 {
                // One that is on its way to the database would be overlooked once it is there.
                if isEmpty { noFailures.withLock { if $0.noted == belief.noted { $0.until = now + Self.delay } } }
                return nil
            }
            var found: IndexChanges.Failed?
            try database.run(
                "SELECT code, url, since, until FROM failures WHERE id=? AND low=?",
                [.integer(hash.id), .integer(hash.lowBits)]
            ) { row in
                found = .init(
                    code: row.text(0) ?? "", url: row.text(1) ?? "", since: Timestamp(milliseconds: row.integer(2)),
                    until: Timestamp(milliseconds: row.integer(3)))
                return false
            }
            return found
        } ?? nil
    }
}

/// An entry that may go.
struct EvictionCandidate: Sendable {
    var hash: CacheKey.Hash
    /// Its place in the index's order.
    var order: Int64
    /// The time of the file that was meant.
    var modified: Timestamp
}
