/// Loads images before they are wanted, and gives up those that no longer will be.
///
/// Prefetching never delays a visible row: it runs at a low priority, few at a time, and a row that wants what is
/// being prefetched takes the work over at its own priority. Safe from any thread.
public final class Prefetcher: Sendable {
    /// How far images are brought.
    public enum Destination: Sendable, Hashable {
        /// Decoded, into memory.
        case memory
        /// Only onto disk, undecoded.
        case disk
    }

    private struct State {
        /// In the order in which they were asked for.
        var queue: ArraySlice<CacheKey> = []
        var requests: [CacheKey: ImageRequest] = [:]
        var running: [CacheKey: Task<Void, Never>] = [:]
        var isPaused = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let loader: ImageLoader
    private let destination: Destination
    private let maxConcurrent: Int
    private let state = Lock(State())

    /// - Parameters:
    ///   - destination: `.memory` by default.
    ///   - maxConcurrent: how many images are prefetched at once. 4 by default.
    public init(loader: ImageLoader, destination: Destination = .memory, maxConcurrent: Int = 4) {
        self.loader = loader
        self.destination = destination
        self.maxConcurrent = max(1, maxConcurrent)
    }

    deinit {
        for task in state.withLock({ Array($0.running.values) }) { task.cancel() }
    }

    /// Adds images behind those that wait. One that waits or runs already is not added again.
    public func start(_ requests: [ImageRequest]) {
        state.withLock { state in
            for request in requests {
                let key = loader.memoryKey(for: request)
                guard state.requests[key] == nil else { continue }
                state.requests[key] = request
                state.queue.append(key)
            }
        }
        pump()
    }

    /// Gives images up, waiting or running.
    public func stop(_ requests: [ImageRequest]) { stop(keys: Set(requests.map(loader.memoryKey(for:)))) }

    /// Gives everything up.
    public func stopAll() { stop(keys: nil) }

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
        await withCheckedContinuation { continuation in
            let done = state.withLock { state -> Bool in
                if state.requests.isEmpty { return true }
                state.waiters.append(continuation)
                return false
            }
            if done { continuation.resume() }
        }
    }

    private func stop(keys: Set<CacheKey>?) {
        let tasks = state.withLock { state -> [Task<Void, Never>] in
            let gone = keys ?? Set(state.requests.keys)
            state.queue.removeAll { gone.contains($0) }
            for key in gone where state.running[key] == nil { state.requests[key] = nil }
            return gone.compactMap { state.running[$0] }
        }
        for task in tasks { task.cancel() }
        wake()
    }

    private func pump() {
        state.withLock { state in
            while !state.isPaused, state.running.count < maxConcurrent, !state.queue.isEmpty {
                guard let key = state.queue.popFirst() else { break }
                guard var request = state.requests[key] else { continue }
                request.priority = min(request.priority, .low)
                state.running[key] = Task { [weak self, loader, destination, request] in
                    switch destination {
                    case .memory: _ = try? await loader.image(for: request)
                    case .disk: _ = try? await loader.store(request)
                    }
                    self?.ended(key)
                }
            }
        }
    }

    private func ended(_ key: CacheKey) {
        state.withLock { state in
            state.running[key] = nil
            state.requests[key] = nil
        }
        pump()
        wake()
    }

    private func wake() {
        let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard state.requests.isEmpty else { return [] }
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }
}
