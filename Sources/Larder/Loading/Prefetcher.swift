/// Loads images before they are wanted, and gives up those that no longer will be.
///
/// Prefetching never delays a visible row: it runs at a low priority, few at a time, and a row that wants what is
/// being prefetched takes the work over at its own priority. Errors are dropped: the row that wants the image will
/// meet them. Safe from any thread.
///
/// With a ``ListWindow`` a list needs one call for each change of the view:
///
///     let change = window.update(visible: 40..<60, count: urls.count)
///     prefetcher.update(change) { row in ImageRequest(url: urls[row]) }
public final class Prefetcher: Sendable {
    /// How far images are brought.
    public enum Destination: Sendable, Hashable {
        /// Decoded, into memory.
        case memory
        /// Only onto disk, undecoded.
        case disk
    }

    private struct Running {
        /// Tells a later load of the same image from this one.
        let id: Int
        let task: Task<Void, Never>
    }

    private struct State {
        /// In the order in which they were asked for.
        var queue: ArraySlice<CacheKey> = []
        var requests: [CacheKey: ImageRequest] = [:]
        var running: [CacheKey: Running] = [:]
        /// The rows of a window that want an image: it is given up with the last of them.
        var rows: [CacheKey: Set<Int>] = [:]
        /// Loads that have not ended, those included that were stopped.
        var active = 0
        var lastID = 0
        var isPaused = false
        var waiters: [Handover<Void>] = []

        var isIdle: Bool { requests.isEmpty && active == 0 }

        mutating func leave(_ key: CacheKey, _ row: Int) {
            guard var left = rows[key] else { return }
            left.remove(row)
            rows[key] = left.isEmpty ? nil : left
        }
    }

    private let loader: ImageLoader
    private let destination: Destination
    private let maxConcurrent: Int
    private let state = Lock(State())

    /// - Parameters:
    ///   - loader: where images come from, and where they are kept.
    ///   - destination: `.memory` by default.
    ///   - maxConcurrent: how many images are prefetched at once. 4 by default.
    public init(loader: ImageLoader, destination: Destination = .memory, maxConcurrent: Int = 4) {
        self.loader = loader
        self.destination = destination
        self.maxConcurrent = max(1, maxConcurrent)
    }

    deinit {
        for running in state.withLock({ Array($0.running.values) }) { running.task.cancel() }
    }

    /// Adds images behind those that wait. One that waits or runs already is not added again; one that somebody else
    /// is loading is joined at once, so that it goes on when that one gives it up.
    public func start(_ requests: [ImageRequest]) {
        let wanted = requests.map { request in
            var request = request
            request.priority = min(request.priority, .low)
            let claim = destination == .memory ? loader.joiningTask(for: request) : nil
            return (key: loader.memoryKey(for: request), request: request, claim: claim)
        }
        state.withLock { state in
            for item in wanted where state.requests[item.key] == nil {
                state.requests[item.key] = item.request
                if let claim = item.claim {
                    begin(item.key, item.request, claim, &state)
                } else {
                    state.queue.append(item.key)
                }
            }
        }
        pump()
    }

    /// Gives images up, waiting or running.
    public func stop(_ requests: [ImageRequest]) { stop(keys: Set(requests.map(loader.memoryKey(for:)))) }

    /// Gives everything up.
    public func stopAll() { stop(keys: nil) }

    /// Does what a ``ListWindow`` asks for: starts what will be seen, keeps going what has just left the view, and
    /// stops what has gone by. The rows in view are the list's own. Call it before cells are reused, so that what
    /// they were loading goes on.
    ///
    /// - Parameters:
    ///   - change: what the window answered.
    ///   - request: what a row shows; nil for a row without an image. Called for rows of the change only, on the
    ///     calling thread. It must give the same for the same row, or what was started is not stopped.
    public func update(_ change: ListWindow.Change, _ request: (Int) -> ImageRequest?) {
        func wanted(_ rows: [Int]) -> [(row: Int, key: CacheKey, request: ImageRequest)] {
            rows.compactMap { row in request(row).map { (row, loader.memoryKey(for: $0), $0) } }
        }
        let (gone, seen, ahead) = (wanted(change.cancel), wanted(change.load), wanted(change.lower + change.prefetch))
        let unwanted = state.withLock { state in
            for item in ahead { state.rows[item.key, default: []].insert(item.row) }
            for item in gone + seen { state.leave(item.key, item.row) }
            for item in seen where state.running[item.key] == nil { state.requests[item.key] = nil }
            state.queue.removeAll { state.requests[$0] == nil }
            return Set(gone.map(\.key).filter { state.rows[$0] == nil })
        }
        stop(keys: unwanted)
        start(ahead.map(\.request))
    }

    /// While true, nothing new begins; what runs goes on. False by default.
    public var isPaused: Bool {
        get { state.withLock { $0.isPaused } }
        set {
            state.withLock { $0.isPaused = newValue }
            pump()
        }
    }

    /// How many images wait or run.
    public var count: Int { state.withLock { $0.requests.count } }

    /// Returns when nothing waits or runs any more.
    public func finish() async {
        await withHandover { continuation in
            let done = state.withLock { state -> Bool in
                if state.isIdle { return true }
                state.waiters.append(continuation)
                return false
            }
            if done { continuation.resume() }
        }
    }

    private func stop(keys: Set<CacheKey>?) {
        let stopped = state.withLock { state -> [Running] in
            let gone = keys ?? Set(state.requests.keys)
            guard !gone.isEmpty else { return [] }
            for key in gone { (state.requests[key], state.rows[key]) = (nil, nil) }
            if keys == nil { state.rows = [:] }
            state.queue.removeAll { gone.contains($0) }
            // Forgotten at once, so that the same image can be started again while the old load ends.
            return gone.compactMap { state.running.removeValue(forKey: $0) }
        }
        for running in stopped { running.task.cancel() }
        wake()
    }

    private func pump() {
        state.withLock { state in
            while !state.isPaused, state.active < maxConcurrent, let key = state.queue.popFirst() {
                if let request = state.requests[key] { begin(key, request, nil, &state) }
            }
        }
    }

    /// - Parameter claim: on what somebody else is loading already.
    private func begin(_ key: CacheKey, _ request: ImageRequest, _ claim: ImageTask?, _ state: inout State) {
        state.lastID += 1
        state.active += 1
        let id = state.lastID
        let task = Task { [weak self, loader, destination] in
            switch destination {
            case .memory: _ = try? await (claim ?? loader.task(for: request)).image
            case .disk: _ = try? await loader.store(request)
            }
            self?.ended(key, id)
        }
        state.running[key] = Running(id: id, task: task)
    }

    private func ended(_ key: CacheKey, _ id: Int) {
        state.withLock { state in
            state.active -= 1
            guard state.running[key]?.id == id else { return }
            state.running[key] = nil
            state.requests[key] = nil
        }
        pump()
        wake()
    }

    private func wake() {
        let waiters = state.withLock { state -> [Handover<Void>] in
            guard state.isIdle else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
