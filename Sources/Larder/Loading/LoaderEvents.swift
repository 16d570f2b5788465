/// What happens in an ``ImageLoader``, as a stream and as counters: for metrics, logs and signposts of your own. The
/// library itself prints nothing.
///
///     for await event in loader.events.stream() {
///         if case .failed(let error) = event.kind { log(error.description) }
///     }
///
/// Counting is always on and costs a lock; without a stream nothing else is done. Safe from any thread.
public final class LoaderEvents: Sendable {
    /// Sums since the loader was made.
    public struct Counters: Sendable, Hashable {
        /// Loads that began.
        public var started = 0
        /// Claims and loads that shared what was under way.
        public var coalesced = 0
        /// Pictures that memory had.
        public var memoryHits = 0
        /// Images and thumbnails that were on disk and could be used without asking.
        public var diskHits = 0
        /// Those among ``diskHits`` that were no longer fresh.
        public var staleHits = 0
        /// Images that the server said are still good.
        public var revalidated = 0
        /// Images that came from a server.
        public var fetched = 0
        /// Bytes of these.
        public var fetchedBytes = 0
        /// Decodes.
        public var decoded = 0
        /// Pictures that memory let go.
        public var evicted = 0
        /// Loads that ended well.
        public var finished = 0
        /// Failures, cancelled loads not counted.
        public var failed = 0
        /// Loads that were given up by all who waited.
        public var cancelled = 0
        /// Seconds that the exchanges behind ``fetched`` and ``revalidated`` took together.
        public var fetchSeconds = 0.0
        /// Seconds that decodes took together.
        public var decodeSeconds = 0.0
    }

    private struct State {
        var counters = Counters()
        var streams: [Int: AsyncStream<LoaderEvent>.Continuation] = [:]
        var lastID = 0
    }

    private let state = Lock(State())
    private let time: any TimeSource

    init(time: any TimeSource) { self.time = time }

    deinit {
        for stream in state.withLock({ Array($0.streams.values) }) { stream.finish() }
    }

    /// The sums at this moment.
    public var counters: Counters { state.withLock { $0.counters } }

    /// Everything that happens from now on, in order for each image. Any number of streams may be read at once; each
    /// ends with the loader, or when its reader leaves.
    ///
    /// - Parameter limit: events that may wait for a slow reader; beyond, the oldest are dropped. 1,024 by default.
    public func stream(limit: Int = 1024) -> AsyncStream<LoaderEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: LoaderEvent.self, bufferingPolicy: .bufferingNewest(max(1, limit)))
        let id = state.withLock { state in
            state.lastID += 1
            state.streams[state.lastID] = continuation
            return state.lastID
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { _ = $0.streams.removeValue(forKey: id) }
        }
        return stream
    }

    /// Streams that are read, for tests.
    var streamCount: Int { state.withLock { $0.streams.count } }

    /// - Parameter start: monotonic nanoseconds; nil where nothing took time.
    func note(_ kind: LoaderEvent.Kind, _ key: CacheKey, since start: UInt64? = nil) {
        note(kind, key, seconds: start.map { Double(time.monotonic &- $0) / 1e9 } ?? 0)
    }

    /// What the fetcher tells.
    func follow(_ event: FetchEvent, _ key: CacheKey) {
        switch event {
        case .coalesced: note(.coalesced, key)
        case .answered(let source, let isStale, let bytes, let attempts, let seconds):
            switch source {
            case .memory, .disk: note(.diskHit(isStale: isStale), key, seconds: seconds)
            case .revalidated: note(.revalidated, key, seconds: seconds)
            case .network: note(.fetched(bytes: bytes, attempts: attempts), key, seconds: seconds)
            }
        default: break
        }
    }

    func note(_ kind: LoaderEvent.Kind, _ key: CacheKey, seconds: Double) {
        let streams = state.withLock { state in
            state.counters.add(kind, seconds)
            return state.streams.isEmpty ? [] : Array(state.streams.values)
        }
        // Outside of the lock: a stream wakes its reader.
        for stream in streams { stream.yield(LoaderEvent(kind: kind, key: key, seconds: seconds)) }
    }
}

extension LoaderEvents.Counters {
    fileprivate mutating func add(_ kind: LoaderEvent.Kind, _ seconds: Double) {
        switch kind {
        case .started: started += 1
        case .coalesced: coalesced += 1
        case .memoryHit: memoryHits += 1
        case .diskHit(let isStale):
            diskHits += 1
            if isStale { staleHits += 1 }
        case .revalidated:
            revalidated += 1
            fetchSeconds += seconds
        case .fetched(let bytes, _):
            fetched += 1
            fetchedBytes += bytes
            fetchSeconds += seconds
        case .decoded:
            decoded += 1
            decodeSeconds += seconds
        case .evicted: evicted += 1
        case .finished: finished += 1
        case .failed(.cancelled): cancelled += 1
        case .failed: failed += 1
        }
    }
}
