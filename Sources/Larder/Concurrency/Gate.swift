/// Lets a bounded amount of work through at once: the highest priority first, then first come, first served.
///
/// Safe from any thread. Waiting is cancellable, and what was cancelled while it waited costs nothing more.
package final class Gate: Sendable {
    private typealias Continuation = Handover<Bool>

    private struct Waiter {
        let id: UInt64
        let cost: Int
        let priority: SharedPriority
        let continuation: Continuation
        let follower: SharedPriority.Follower
    }

    private struct State {
        var free: Int
        var places: Int
        var waiting: [Waiter] = []
        var lastID: UInt64 = 0
        var cancelledEarly: Set<UInt64> = []

        /// Those whose turn has come. The first of the highest priority goes next; it is never passed by one that
        /// happens to fit, so that large work is not starved.
        mutating func admit() -> [Waiter] {
            var admitted: [Waiter] = []
            while places > 0,
                let next = waiting.indices.max(by: {
                    let (left, right) = (waiting[$0].priority.value, waiting[$1].priority.value)
                    return left < right || (left == right && $0 > $1)
                }), waiting[next].cost <= free
            {
                let waiter = waiting.remove(at: next)
                free -= waiter.cost
                places -= 1
                admitted.append(waiter)
            }
            return admitted
        }
    }

    /// What may be let through at once, in the unit of `cost`.
    package let capacity: Int
    private let state: Lock<State>

    /// - Parameter places: pieces of work that may be inside at once, whatever they cost. As many as fit by default.
    package init(capacity: Int, places: Int = .max) {
        self.capacity = max(1, capacity)
        state = Lock(State(free: max(1, capacity), places: max(1, places)))
    }

    /// How much waits, for metrics.
    package var waiting: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` while holding `cost` (held to the capacity) of the gate.
    package func run<Success: Sendable>(
        cost: Int = 1, priority: SharedPriority = SharedPriority(),
        _ body: () async throws(ImageError) -> Success
    ) async throws(ImageError) -> Success {
        let cost = min(max(1, cost), capacity)
        try await acquire(cost: cost, priority: priority)
        defer { release(cost: cost) }
        return try await body()
    }

    /// Takes `cost` of the gate until `release`: for work whose end is not that of a function.
    package func acquire(cost: Int = 1, priority: SharedPriority = SharedPriority()) async throws(ImageError) {
        let id = state.withLock { state -> UInt64 in
            state.lastID += 1
            return state.lastID
        }
        let admitted = await withTaskCancellationHandler {
            await withHandover { (continuation: Continuation) in
                // Who becomes more urgent may fit where the one that was first does not.
                let waiter = Waiter(
                    id: id, cost: cost, priority: priority, continuation: continuation,
                    follower: priority.follow { [weak self] _ in self?.admit() })
                let isCancelled = state.withLock { state in
                    if state.cancelledEarly.remove(id) != nil { return true }
                    state.waiting.append(waiter)
                    return false
                }
                if isCancelled { continuation.resume(returning: false) } else { admit() }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
                    state.cancelledEarly.insert(id)
                    return nil
                }
                return state.waiting.remove(at: index)
            }
            waiter?.continuation.resume(returning: false)
            // A large waiter that has gone may have stood before smaller ones.
            if waiter != nil { admit() }
        }
        state.withLock { _ = $0.cancelledEarly.remove(id) }
        if !admitted { throw .cancelled(.init("cancelled while it waited")) }
    }

    package func release(cost: Int = 1) {
        state.withLock { state in
            state.free += cost
            state.places += 1
        }
        admit()
    }

    private func admit() {
        for waiter in state.withLock({ $0.admit() }) { waiter.continuation.resume(returning: true) }
    }
}
