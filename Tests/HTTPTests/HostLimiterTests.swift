import TestSupport
import Testing

@testable import Larder

@Suite struct HostLimiterTests {
    /// Waits, in turn, for a place and tells who got one.
    private final class Queue: Sendable {
        let limiter: HostLimiter
        private let order = Lock<[String]>([])
        init(_ limiter: HostLimiter) { self.limiter = limiter }

        var admitted: [String] { order.withLock { $0 } }

        func enter(
            _ name: String, _ host: String, _ priority: SharedPriority = SharedPriority()
        ) async -> Task<Void, any Error> {
            let before = limiter.counts
            let task = Task {
                try await limiter.acquire(host, priority: priority)
                order.withLock { $0.append(name) }
            }
            while !Task.isCancelled {
                let now = limiter.counts
                if now.running + now.waiting > before.running + before.waiting { break }
                await Task.yield()
            }
            return task
        }

        func admitted(_ count: Int) async { while admitted.count < count, !Task.isCancelled { await Task.yield() } }
    }

    @Test func holdsTheLimitsInAllAndPerHost() async throws {
        let queue = Queue(HostLimiter(limits: .init(total: 3, perHost: 2)))
        for name in ["a1", "a2", "a3"] { _ = await queue.enter(name, "a") }
        #expect(queue.limiter.counts.running == 2)
        _ = await queue.enter("b1", "b")
        #expect(queue.limiter.counts == (2, 3, 1))
        _ = await queue.enter("b2", "b")
        #expect(queue.limiter.counts.running == 3)
        queue.limiter.release("b")
        await queue.admitted(4)
        #expect(queue.admitted.last == "b2", "a host that is busy does not hold up another")
        queue.limiter.release("a")
        await queue.admitted(5)
        #expect(queue.admitted.last == "a3")
    }

    @Test func firstComeFirstServedWithinAPriority() async throws {
        let queue = Queue(HostLimiter(limits: .init(total: 1, perHost: 1)))
        for name in ["1", "2", "3", "4"] { _ = await queue.enter(name, "a") }
        for count in 2...4 {
            queue.limiter.release("a")
            await queue.admitted(count)
        }
        #expect(queue.admitted == ["1", "2", "3", "4"])
    }

    @Test func theHighestPriorityGoesNextAlsoWhenItIsRaisedLater() async throws {
        let queue = Queue(HostLimiter(limits: .init(total: 1, perHost: 1)))
        _ = await queue.enter("running", "a")
        let raised = SharedPriority(.veryLow)
        _ = await queue.enter("raised", "a", raised)
        _ = await queue.enter("normal", "a")
        _ = await queue.enter("high", "b", SharedPriority(.high))
        raised.value = .veryHigh
        for count in 2...4 {
            queue.limiter.release(count == 4 ? "b" : "a")
            await queue.admitted(count)
        }
        #expect(queue.admitted == ["running", "raised", "high", "normal"])
    }

    @Test func waitingIsCancellableAndLeavesNothing() async throws {
        let queue = Queue(HostLimiter(limits: .init(total: 1, perHost: 1)))
        _ = await queue.enter("1", "a")
        let second = await queue.enter("2", "b")
        second.cancel()
        await #expect(throws: ImageError.self) { try await second.value }
        #expect(queue.limiter.counts == (1, 1, 0))
        queue.limiter.release("a")
        #expect(queue.limiter.counts == (0, 0, 0))
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await queue.limiter.acquire("a")
        }
        await #expect(throws: ImageError.self) { try await cancelled.value }
        #expect(queue.limiter.counts == (0, 0, 0))
    }

    @Test func aRateSpacesTheStartsToOneHostOnly() async throws {
        let time = ManualTime()
        let queue = Queue(HostLimiter(limits: .init(total: 10, perHost: 10, perSecond: 2), time: time))
        _ = await queue.enter("a1", "a")
        _ = await queue.enter("a2", "a")
        _ = await queue.enter("a3", "a")
        _ = await queue.enter("b1", "b")
        await queue.admitted(2)
        #expect(queue.admitted == ["a1", "b1"])
        for (count, name) in [(3, "a2"), (4, "a3")] {
            await time.sleepers(1)
            time.advance(seconds: 0.5)
            await queue.admitted(count)
            #expect(queue.admitted.last == name)
        }
    }

    @Test func manyHostsTakeNoMemoryOnceTheyAreDone() async throws {
        let plain = HostLimiter()
        let time = ManualTime()
        let paced = HostLimiter(limits: .init(perSecond: 10), time: time)
        for number in 0..<5000 {
            for limiter in [plain, paced] {
                try await limiter.acquire("host\(number)")
                limiter.release("host\(number)")
            }
            time.advance(seconds: 0.01)
        }
        #expect(plain.counts.hosts == 0)
        #expect(paced.counts.hosts <= 1000)
    }

    @Test func runsUnderLoadWithoutLosingATurn() async throws {
        let limiter = HostLimiter(limits: .init(total: 8, perHost: 3))
        let most = Lock<(now: [String: Int], most: Int, all: Int, mostAll: Int)>(([:], 0, 0, 0))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<2000 {
                group.addTask {
                    let host = "host\(number % 7)"
                    let task = Task {
                        try? await limiter.run(host) { () throws(ImageError) in
                            most.withLock { state in
                                state.now[host, default: 0] += 1
                                state.all += 1
                                state.most = max(state.most, state.now[host] ?? 0)
                                state.mostAll = max(state.mostAll, state.all)
                            }
                            await Task.yield()
                            most.withLock { state in
                                state.now[host, default: 0] -= 1
                                state.all -= 1
                            }
                        }
                    }
                    if number % 5 == 0 { task.cancel() }
                    _ = await task.value
                }
            }
        }
        #expect(limiter.counts == (0, 0, 0))
        #expect(most.withLock { $0.most } <= 3)
        #expect(most.withLock { $0.mostAll } <= 8)
    }
}
