/// Lets requests through: so many in all, so many to one host at once, and so many a second to one host.
///
/// Of those who wait, the highest priority goes first, then first come, first served; a host that is busy does not
/// hold up requests to others. Priorities may change while they wait. Waiting is cancellable. A host takes memory only
/// while requests to it run or wait, or its next start is still to come. Safe from any thread.
package final class HostLimiter: Sendable {
    package struct Limits: Sendable, Hashable {
        /// Requests under way in all.
        package var total = 64
        /// Requests under way to one host.
        package var perHost = 6
        /// Requests that begin in one second to one host; nil for no such limit.
        package var perSecond: Double?

        package init(total: Int = 64, perHost: Int = 6, perSecond: Double? = nil) {
            self.total = total
            self.perHost = perHost
            self.perSecond = perSecond
        }
    }

    private typealias Continuation = Handover<Bool>

    private final class Host {
        var running = 0
        var waiting = 0
        /// Monotonic time before which no other request begins.
        var nextStart: UInt64 = 0
    }

    private struct Waiter {
        let id: UInt64
        let name: String
        let host: Host
        let priority: SharedPriority
        let continuation: Continuation
    }

    private struct State {
        var running = 0
        var hosts: [String: Host] = [:]
        var waiters: [Waiter] = []
        var lastID: UInt64 = 0
        var cancelledEarly: Set<UInt64> = []
        var wakesAt: UInt64?
        var sweepAt = 256
    }

    private let limits: Limits
    private let interval: UInt64
    private let time: any TimeSource
    private let state = Lock(State())

    package init(limits: Limits = .init(), time: any TimeSource = SystemTime()) {
        self.limits = Limits(
            total: max(1, limits.total), perHost: max(1, limits.perHost), perSecond: limits.perSecond)
        interval = limits.perSecond.map { $0 > 0 ? UInt64(min(1e9 / $0, 1e18)) : 0 } ?? 0
        self.time = time
    }

    /// Hosts in memory, requests under way and requests that wait: for metrics and tests.
    package var counts: (hosts: Int, running: Int, waiting: Int) {
        state.withLock { ($0.hosts.count, $0.running, $0.waiters.count) }
    }

    /// Runs `body` when its turn has come.
    ///
    /// - Throws: ``ImageError/cancelled(_:)`` where the task was cancelled while it waited, and what `body` throws.
    package func run<Success: Sendable>(
        _ host: String, priority: SharedPriority = SharedPriority(),
        _ body: () async throws(ImageError) -> Success
    ) async throws(ImageError) -> Success {
        try await acquire(host, priority: priority)
        defer { release(host) }
        return try await body()
    }

    /// Waits for a turn, which must be given back with ``release(_:)``.
    package func acquire(_ host: String, priority: SharedPriority = SharedPriority()) async throws(ImageError) {
        if Task.isCancelled { throw .cancelled(.init("cancelled before it began")) }
        if state.withLock({ startAtOnce(host, &$0) }) { return }
        let id = state.withLock { state -> UInt64 in
            state.lastID += 1
            return state.lastID
        }
        let admitted = await withTaskCancellationHandler {
            await withHandover { (continuation: Continuation) in
                let isCancelled = state.withLock { state -> Bool in
                    if state.cancelledEarly.remove(id) != nil { return true }
                    let entry = self.host(host, &state)
                    entry.waiting += 1
                    state.waiters.append(
                        Waiter(id: id, name: host, host: entry, priority: priority, continuation: continuation))
                    return false
                }
                if isCancelled { continuation.resume(returning: false) } else { pump() }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Waiter? in
                guard let index = state.waiters.firstIndex(where: { $0.id == id }) else {
                    state.cancelledEarly.insert(id)
                    return nil
                }
                let waiter = state.waiters.remove(at: index)
                waiter.host.waiting -= 1
                forget(waiter.name, waiter.host, &state)
                return waiter
            }
            waiter?.continuation.resume(returning: false)
        }
        state.withLock { _ = $0.cancelledEarly.remove(id) }
        if !admitted { throw .cancelled(.init("cancelled while it waited")) }
    }

    /// Gives a turn back.
    package func release(_ host: String) {
        state.withLock { state in
            state.running -= 1
            guard let entry = state.hosts[host] else { return }
            entry.running -= 1
            forget(host, entry, &state)
        }
        pump()
    }

    private func host(_ name: String, _ state: inout State) -> Host {
        if let host = state.hosts[name] { return host }
        let host = Host()
        state.hosts[name] = host
        if interval > 0, state.hosts.count > state.sweepAt {
            // Hosts that only wait for their next start to come are dropped when many have gathered.
            let now = time.monotonic
            state.hosts = state.hosts.filter { $1 === host || $1.running + $1.waiting > 0 || $1.nextStart > now }
            state.sweepAt = max(256, state.hosts.count * 2)
        }
        return host
    }

    private func forget(_ name: String, _ host: Host, _ state: inout State) {
        guard host.running + host.waiting == 0 else { return }
        if interval == 0 || host.nextStart <= time.monotonic { state.hosts[name] = nil }
    }

    private func startAtOnce(_ name: String, _ state: inout State) -> Bool {
        guard state.waiters.isEmpty, state.running < limits.total else { return false }
        let host = host(name, &state)
        guard host.running < limits.perHost, interval == 0 || host.nextStart <= time.monotonic else { return false }
        start(host, &state)
        return true
    }

    private func start(_ host: Host, _ state: inout State) {
        state.running += 1
        host.running += 1
        if interval > 0 { host.nextStart = time.monotonic &+ interval }
    }

    /// Lets through whoever may go now, and sees to it that somebody looks again when a rate allows the next.
    private func pump() {
        let (admitted, wait) = state.withLock { state -> ([Waiter], UInt64?) in
            guard !state.waiters.isEmpty else { return ([], nil) }
            var admitted: [Waiter] = []
            let now = interval > 0 ? time.monotonic : 0
            while state.running < limits.total, let next = best(state, now) {
                let waiter = state.waiters.remove(at: next)
                waiter.host.waiting -= 1
                start(waiter.host, &state)
                admitted.append(waiter)
            }
            guard interval > 0, state.running < limits.total else { return (admitted, nil) }
            let soonest = state.waiters.filter { $0.host.running < limits.perHost }.map(\.host.nextStart).min()
            guard let soonest, soonest < state.wakesAt ?? .max else { return (admitted, nil) }
            state.wakesAt = soonest
            return (admitted, soonest > now ? soonest - now : 0)
        }
        for waiter in admitted { waiter.continuation.resume(returning: true) }
        guard let wait else { return }
        Task { [time] in
            try? await time.sleep(seconds: Double(wait) / 1e9)
            state.withLock { $0.wakesAt = nil }
            pump()
        }
    }

    /// The first of the highest priority among those whose host has room.
    private func best(_ state: State, _ now: UInt64) -> Int? {
        var best: Int?
        var highest: ImagePriority?
        for (index, waiter) in state.waiters.enumerated()
        where waiter.host.running < limits.perHost && waiter.host.nextStart <= now {
            let priority = waiter.priority.value
            if let highest, priority <= highest { continue }
            best = index
            highest = priority
            if priority == .veryHigh { break }
        }
        return best
    }
}
