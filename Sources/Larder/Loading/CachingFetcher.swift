import Foundation

/// An HTTP cache over the disk tier (RFC 9111, private): a request goes in; bytes and fields come out, from disk where
/// they may be used, else from the network, stored on the way.
///
/// Requests for the same share one fetch; cancelling one of several that wait leaves the others alone, cancelling the
/// last stops the transfer and leaves nothing behind. Nothing of the disk tier is touched outside the executor, and a
/// disk tier that fails costs no load. Safe from any thread.
package final class CachingFetcher: Sendable {
    let client: HTTPClient
    let disk: DiskTier?
    let executor: BlockingExecutor
    let configuration: FetcherConfiguration
    let time: any TimeSource
    /// A number from 0 to 1, for the jitter of retries.
    let random: @Sendable () -> Double
    let limiter: HostLimiter
    let breaker: CircuitBreaker
    let rate: RateLimiter?
    let robots: RobotsPolicy?
    let fetching = FetchesUnderWay()
    private let flights: Coalescer<FlightID, FetchResult>
    private let listeners = Lock<[FlightID: ProgressHub]>([:])
    private let background = Lock(Background())

    /// What two requests must have in common to share one fetch.
    final class FlightID: Hashable, Sendable {
        let key: CacheKey
        let url: String
        let method: String
        let policy: CachePolicy
        let fields: HTTPFields
        let sha256: [UInt8]?
        let maxBytes: Int
        let limits: ImageLimits?
        let filter: ImageFilter?
        let deadlines: Deadlines

        init(_ request: FetchRequest) {
            key = request.key
            url = request.url.string
            method = request.method
            policy = request.policy
            fields = request.fields
            sha256 = request.sha256
            maxBytes = request.maxBytes
            deadlines = request.deadlines
            if case .image(let limits, let filter) = request.content {
                (self.limits, self.filter) = (limits, filter)
            } else {
                (limits, filter) = (nil, nil)
            }
        }

        func hash(into hasher: inout Hasher) { hasher.combine(key) }

        static func == (left: FlightID, right: FlightID) -> Bool {
            left === right
                || left.key == right.key && left.url == right.url && left.method == right.method
                    && left.policy == right.policy && left.fields == right.fields && left.sha256 == right.sha256
                    && left.maxBytes == right.maxBytes && left.limits == right.limits && left.filter == right.filter
                    && left.deadlines == right.deadlines
        }
    }

    private struct Background {
        var running: Set<CacheKey> = []
        var idle: [Handover<Void>] = []
    }

    /// - Parameters:
    ///   - client: over which transport, and where it may go. One that hands redirects on serves ``FetchRequest/Content/any``.
    ///   - disk: nil for no disk tier: everything comes in memory.
    ///   - executor: runs the calls to the disk tier.
    package init(
        client: HTTPClient, disk: DiskTier?, executor: BlockingExecutor,
        configuration: FetcherConfiguration = .init(), time: any TimeSource = SystemTime(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.client = client
        self.disk = disk
        self.executor = executor
        // A fetch goes back and forth between the network and the disk: on the disk's threads that is no journey.
        flights = Coalescer(on: executor.tasks)
        self.configuration = configuration
        self.time = time
        self.random = random
        limiter = HostLimiter(limits: configuration.limits, time: time)
        breaker = CircuitBreaker(options: configuration.breaker, time: time)
        rate = configuration.bytesPerSecond.map { RateLimiter(bytesPerSecond: $0, time: time) }
        robots = configuration.keepsRobots ? RobotsPolicy(time: time) : nil
    }

    /// A fetch that has begun.
    package final class Fetch: Sendable {
        private let fetcher: CachingFetcher
        private let ticket: Coalescer<FlightID, FetchResult>.Ticket
        private let id: FlightID
        private let listener: ObjectIdentifier

        fileprivate init(
            _ fetcher: CachingFetcher, _ ticket: Coalescer<FlightID, FetchResult>.Ticket, _ id: FlightID,
            _ listener: ObjectIdentifier
        ) {
            self.fetcher = fetcher
            self.ticket = ticket
            self.id = id
            self.listener = listener
        }

        deinit {
            fetcher.flights.leave(ticket)
            fetcher.stopListening(id, listener)
        }

        /// The result. Cancelling the waiting task gives up this caller's part in the fetch. Call it once.
        package func result() async throws(ImageError) -> FetchResult {
            var result = try await fetcher.flights.wait(ticket)
            result.isShared = ticket.joined
            return result
        }

        /// Takes effect at once, also where it waits for its turn.
        package func setPriority(_ priority: ImagePriority) { fetcher.flights.setPriority(priority, of: ticket) }
    }

    /// Fetches, or finds, what is asked for.
    ///
    /// - Parameter onProgress: called from any thread with each piece that comes from the network.
    /// - Throws: every ``ImageError``; ``ImageError/notCached(_:)`` where the network may not be used.
    package func fetch(
        _ request: FetchRequest, onProgress: (@Sendable (FetchProgress) -> Void)? = nil
    ) async throws(ImageError) -> FetchResult {
        try await begin(request, onProgress: onProgress).result()
    }

    /// Begins a fetch whose priority may change. Released without its result having been waited for, it is given up.
    package func begin(
        _ request: FetchRequest, onProgress: (@Sendable (FetchProgress) -> Void)? = nil
    ) -> Fetch {
        let id = FlightID(request)
        let (hub, listener) = listen(id, onProgress)
        let ticket = flights.join(id, priority: request.priority) { [self] priority throws(ImageError) in
            try await load(request, id.key, priority, hub)
        }
        if ticket.joined { configuration.observer?(.coalesced, id.key) }
        return Fetch(self, ticket, id, listener)
    }

    /// What is stored, where it may be used without asking; nil otherwise. One visit to the executor.
    package func freshEntry(for request: FetchRequest) async -> FetchResult? {
        try? await executor.run { () throws(ImageError) in self.storedAndFresh(for: request) }
    }

    /// The same for callers that are on a thread that may block.
    package func storedAndFresh(for request: FetchRequest) -> FetchResult? {
        guard case .found(let result, revalidates: false)? = try? lookUp(request, request.key), !result.isStale,
            (try? request.judge(result)) != nil
        else { return nil }
        return result
    }

    /// Makes what is stored for the URL unusable, because an unsafe request has changed it (RFC 9111 §4.4).
    package func invalidate(_ url: NormalizedURL, fields: HTTPFields = .init()) async {
        guard let disk else { return }
        let keys = [CacheKey(url: url.string), FetchRequest(url: url, fields: fields).key]
        await executor.perform { for key in Set(keys) { disk.remove(key) } }
    }

    /// Returns when no revalidation runs in the background any more.
    package func backgroundWork() async {
        await withHandover { continuation in
            let isIdle = background.withLock { state in
                if !state.running.isEmpty { state.idle.append(continuation) }
                return state.running.isEmpty
            }
            if isIdle { continuation.resume() }
        }
    }

    /// Fetches under way, for metrics and tests.
    package var flightCount: Int { flights.count }

    // MARK: One flight

    private func load(
        _ request: FetchRequest, _ key: CacheKey, _ priority: SharedPriority, _ hub: ProgressHub
    ) async throws(ImageError) -> FetchResult {
        let start = time.monotonic
        func answer(_ result: FetchResult) throws(ImageError) -> FetchResult {
            try request.judge(result)
            configuration.observer?(
                .answered(
                    result.source, isStale: result.isStale, bytes: result.payloadLength, attempts: result.attempts,
                    seconds: Double(time.monotonic &- start) / 1e9), key)
            return result
        }
        do throws(ImageError) {
            var admission: Admission
            var deadline: UInt64?
            if disk == nil || request.policy == .reload {
                admission = Admission(found: try withoutDisk(request))
            } else {
                admission = try await executor.run { () throws(ImageError) in try self.admit(request, key) }
            }
            let turn = admission.turn
            defer { turn?.end() }
            if let turn, admission.waits {
                deadline = time.deadline(in: request.deadlines.total)
                configuration.observer?(.waiting, key)
                admission = try await waitForTurn(turn, request, key)
            }
            switch admission.found {
            case .found(let result, let revalidates):
                configuration.observer?(.hit(isStale: result.isStale), key)
                if revalidates { revalidateInBackground(request, key) }
                return try answer(result)
            case .needed(let stored):
                configuration.observer?(.miss, key)
                let plan = FetchPlan(
                    request: request, key: key, fields: sentFields(request), stored: stored,
                    beginning: admission.beginning, deadline: deadline, priority: priority, hub: hub)
                do throws(ImageError) { return try answer(try await ask(plan)) } catch {
                    // Not even asked for: it is still good for another fetch.
                    if let beginning = plan.beginning, beginning.isWhole {
                        await executor.perform { beginning.putBack() }
                    }
                    throw error
                }
            }
        } catch {
            let error = error.mapDetails { $0.url = $0.url ?? request.url.string }
            configuration.observer?(.failed(error), key)
            throw error
        }
    }

    private func withoutDisk(_ request: FetchRequest) throws(ImageError) -> Lookup {
        if case .offlineOnly = request.policy { throw .notCached(.init("not stored, and the network is not used")) }
        if CacheControl(request.fields).onlyIfCached {
            throw .notCached(.init("only-if-cached, and nothing is stored"))
        }
        return .needed(nil)
    }

    /// One revalidation of a key at a time, and few in all: what is left out is asked for by the next who wants it.
    private func revalidateInBackground(_ request: FetchRequest, _ key: CacheKey) {
        let begins = background.withLock { state in
            state.running.count < configuration.maxBackgroundRevalidations && state.running.insert(key).inserted
        }
        guard begins else { return }
        var request = request
        request.policy = .revalidate
        request.priority = .veryLow
        Task { [self, request] in
            _ = try? await fetch(request)
            let idle = background.withLock { state -> [Handover<Void>] in
                state.running.remove(key)
                guard state.running.isEmpty else { return [] }
                defer { state.idle = [] }
                return state.idle
            }
            for continuation in idle { continuation.resume() }
        }
    }

    // MARK: Progress

    private func listen(
        _ id: FlightID, _ onProgress: (@Sendable (FetchProgress) -> Void)?
    ) -> (ProgressHub, ObjectIdentifier) {
        let listener = ProgressHub.Listener(onProgress)
        let hub = listeners.withLock { hubs -> ProgressHub in
            let hub = hubs[id] ?? ProgressHub()
            hub.add(listener)
            hubs[id] = hub
            return hub
        }
        return (hub, ObjectIdentifier(listener))
    }

    private func stopListening(_ id: FlightID, _ listener: ObjectIdentifier) {
        listeners.withLock { hubs in
            if let hub = hubs[id], hub.remove(listener) { hubs[id] = nil }
        }
    }
}

/// Those who want to know how far a fetch has come.
final class ProgressHub: Sendable {
    final class Listener: Sendable {
        let call: (@Sendable (FetchProgress) -> Void)?
        init(_ call: (@Sendable (FetchProgress) -> Void)?) { self.call = call }
    }

    private let listeners = Lock<[ObjectIdentifier: Listener]>([:])

    func add(_ listener: Listener) { listeners.withLock { $0[ObjectIdentifier(listener)] = listener } }

    /// Whether nobody is left.
    func remove(_ id: ObjectIdentifier) -> Bool {
        listeners.withLock { listeners in
            listeners[id] = nil
            return listeners.isEmpty
        }
    }

    func report(_ progress: @autoclosure () -> FetchProgress) {
        let calls = listeners.withLock { listeners in
            // Rows of a list have none: not worth an array for each piece.
            listeners.values.contains { $0.call != nil } ? listeners.values.compactMap(\.call) : []
        }
        guard !calls.isEmpty else { return }
        let progress = progress()
        for call in calls { call(progress) }
    }
}
