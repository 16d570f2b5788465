import Larder

/// A clock that a test turns by hand: no test waits for the real one.
///
/// Sleepers wake when the clock passes their time. With `sleepsAdvance` a sleep turns the clock itself and returns
/// at once, so that code with back-off runs through in no time.
package final class ManualTime: TimeSource {
    private struct Sleeper {
        var id: Int
        var wakesAt: UInt64
        var continuation: Handover<Bool>
    }

    private struct State {
        var now: Timestamp
        var monotonic: UInt64 = 1_000_000_000
        var nextID = 0
        var sleepers: [Sleeper] = []
        var cancelled: Set<Int> = []
        var slept: [Double] = []
        var watchers: [(count: Int, release: Release)] = []
    }

    /// Every clock that was slept by. One that nobody turns any more and who sleeps by it hold each other for good; held
    /// here as well they are no leak to LeakSanitizer, which so may look for those of the code.
    private static let sleptBy = Lock<[ObjectIdentifier: ManualTime]>([:])

    private let state: Lock<State>
    private let sleepsAdvance: Bool
    private let leastAdvance: Double

    /// - Parameters:
    ///   - now: 2026-01-15T12:00:00Z by default.
    ///   - leastAdvance: seconds; shorter sleeps do not turn the clock. For code that looks at the clock again and again:
    ///     what it waits for should not come by its looking.
    package init(
        now: Timestamp = Timestamp(milliseconds: 1_768_478_400_000), sleepsAdvance: Bool = false,
        leastAdvance: Double = 0
    ) {
        state = Lock(State(now: now))
        self.sleepsAdvance = sleepsAdvance
        self.leastAdvance = leastAdvance
    }

    package var now: Timestamp { state.withLock { $0.now } }
    package var monotonic: UInt64 { state.withLock { $0.monotonic } }

    /// Every sleep that was asked for, in seconds.
    package var slept: [Double] { state.withLock { $0.slept } }

    /// Turns both clocks forward and wakes whose time has come.
    package func advance(seconds: Double) {
        let woken = state.withLock { state -> [Sleeper] in
            state.monotonic += UInt64(max(0, seconds) * 1e9)
            state.now.milliseconds += Int64(seconds * 1000)
            let woken = state.sleepers.filter { $0.wakesAt <= state.monotonic }
            state.sleepers.removeAll { $0.wakesAt <= state.monotonic }
            return woken
        }
        for sleeper in woken { sleeper.continuation.resume(returning: true) }
    }

    /// Sets the wall clock alone, as an administrator or NTP does.
    package func setWallClock(_ now: Timestamp) { state.withLock { $0.now = now } }

    /// Returns when at least `count` sleeps are waiting, or the task was cancelled.
    package func sleepers(_ count: Int) async {
        await withRelease { release in
            let there = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.watchers.append((count, release))
                return false
            }
            if there { release.resume() }
        }
    }

    package func sleep(seconds: Double) async throws {
        try Task.checkCancellation()
        if sleepsAdvance {
            guard seconds == 0 || seconds >= leastAdvance else {
                return try await Task.sleep(nanoseconds: 5_000_000)
            }
            state.withLock { $0.slept.append(seconds) }
            advance(seconds: seconds)
            await Task.yield()
            return try Task.checkCancellation()
        }
        let id = state.withLock { state in
            state.slept.append(seconds)
            state.nextID += 1
            return state.nextID
        }
        guard seconds > 0 else { return }
        Self.sleptBy.withLock { $0[ObjectIdentifier(self)] = self }
        let whole = await withTaskCancellationHandler {
            await withHandover { continuation in
                let (ended, watchers) = state.withLock { state -> (Bool, [Release]) in
                    if state.cancelled.remove(id) != nil { return (true, []) }
                    let wakesAt = state.monotonic + UInt64(min(seconds, 1e9) * 1e9)
                    state.sleepers.append(Sleeper(id: id, wakesAt: wakesAt, continuation: continuation))
                    let ready = state.watchers.filter { $0.count <= state.sleepers.count }.map(\.release)
                    state.watchers.removeAll { $0.count <= state.sleepers.count }
                    return (false, ready)
                }
                for watcher in watchers { watcher.resume() }
                if ended { continuation.resume(returning: false) }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                    state.cancelled.insert(id)
                    return nil
                }
                return state.sleepers.remove(at: index)
            }
            sleeper?.continuation.resume(returning: false)
        }
        if !whole { throw CancellationError() }
    }
}
