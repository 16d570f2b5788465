/// One process at a time fetches a key: the others on its directory wait and then read what it has stored.
extension CachingFetcher {
    /// What the disk tier says, and whether another process is just fetching it.
    struct Admission: Sendable {
        var found: Lookup
        /// The kept beginning of a cut transfer, to be continued.
        var beginning: Beginning?
        /// Ends with the fetch; nil where the fetch needs none.
        var turn: FetchTurn?
        var waits: Bool { turn?.isOurs == false }
    }

    /// Looks a request up and, where the network is needed, takes the turn to ask it. Blocks; one visit to the
    /// executor for both.
    func admit(_ request: FetchRequest, _ key: CacheKey) throws(ImageError) -> Admission {
        let found = request.isAfterMiss ? .needed(nil) : try lookUp(request, key)
        guard case .needed(let stored) = found, takesTurns(request), let disk, fetching.begin(key) else {
            return admission(request.isAfterMiss ? try lookUp(request, key, isSecond: true) : found, request, key)
        }
        let turn = FetchTurn(fetching, key, disk.tryLock(for: key))
        guard turn.isOurs else { return Admission(found: found, turn: turn) }
        // Whoever had the turn until a moment ago may have stored it.
        let looksAgain = request.isAfterMiss || stored == nil && disk.entry(for: key) != nil
        return try admission(
            looksAgain ? lookUp(request, key, isSecond: request.isAfterMiss) : found, request, key, turn)
    }

    private func admission(
        _ found: Lookup, _ request: FetchRequest, _ key: CacheKey, _ turn: FetchTurn? = nil
    ) -> Admission {
        guard case .needed(let stored) = found, stored == nil else { return Admission(found: found, turn: turn) }
        return Admission(found: found, beginning: beginning(request, key), turn: turn)
    }

    /// Waits until another process has fetched it or given up, for half of the time that the fetch may take at most:
    /// one that is stopped or slow must not cost the image. Then looks again.
    func waitForTurn(
        _ turn: FetchTurn, _ request: FetchRequest, _ key: CacheKey
    ) async throws(ImageError) -> Admission {
        if let disk {
            let until = time.deadline(in: request.deadlines.total / 2)
            turn.take(try await disk.lock(for: key, deadline: until, on: executor))
        }
        return try await executor.run { () throws(ImageError) in
            self.admission(try self.lookUp(request, key), request, key, turn)
        }
    }

    /// What will be stored under its key alone. A reload is asked for by each who wants it, and for other content
    /// than images the answer may well be no one else's.
    private func takesTurns(_ request: FetchRequest) -> Bool {
        !request.takesAnything && request.method == "GET" && request.policy != .reload
            && !request.fields.contains("range")
    }
}

/// The keys that this process fetches; those of one process share their fetches elsewhere and do not wait for each
/// other here.
final class FetchesUnderWay: Sendable {
    private let keys = Lock(Set<CacheKey>())

    /// False where a fetch of that key has begun already.
    func begin(_ key: CacheKey) -> Bool { keys.withLock { $0.insert(key).inserted } }
    func end(_ key: CacheKey) { keys.withLock { _ = $0.remove(key) } }
}

/// A fetch's turn among the processes on a directory. It ends with ``end()`` or with this object.
final class FetchTurn: Sendable {
    private let fetching: FetchesUnderWay
    private let key: CacheKey
    private let state: Lock<(lock: KeyLock?, isOpen: Bool)>

    /// - Parameter lock: nil where another process has the turn.
    init(_ fetching: FetchesUnderWay, _ key: CacheKey, _ lock: KeyLock?) {
        self.fetching = fetching
        self.key = key
        state = Lock((lock, true))
    }

    deinit { end() }

    var isOurs: Bool { state.withLock { $0.lock != nil } }

    func take(_ lock: KeyLock?) { state.withLock { $0.lock = lock } }

    /// Lets the next one have it.
    func end() {
        let (lock, wasOpen) = state.withLock { state in
            defer { state = (nil, false) }
            return state
        }
        lock?.release()
        if wasOpen { fetching.end(key) }
    }
}
