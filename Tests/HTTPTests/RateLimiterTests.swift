import TestSupport
import Testing

@testable import Larder

@Suite struct RateLimiterTests {
    @Test func bytesTakeTheirTimeWhoeverTheyAreFor() async throws {
        let time = ManualTime(sleepsAdvance: true)
        let limiter = RateLimiter(bytesPerSecond: 1000, time: time)
        let start = time.monotonic
        for _ in 0..<20 { try await limiter.pass(500) }
        let seconds = Double(time.monotonic - start) / 1e9
        #expect(seconds > 9.8 && seconds <= 10)
    }

    @Test func aSmallBurstPassesAtOnce() async throws {
        let time = ManualTime()
        let limiter = RateLimiter(bytesPerSecond: 8000, time: time)
        try await limiter.pass(1000)
        #expect(time.slept.isEmpty)
    }

    @Test func timeThatWasNotUsedIsNotSaved() async throws {
        let time = ManualTime(sleepsAdvance: true)
        let limiter = RateLimiter(bytesPerSecond: 1000, time: time)
        try await limiter.pass(10)
        time.advance(seconds: 100)
        try await limiter.pass(2125)
        #expect(time.slept == [2])
    }

    @Test func waitingIsCancellable() async throws {
        let time = ManualTime()
        let limiter = RateLimiter(bytesPerSecond: 1, time: time)
        let task = Task { try await limiter.pass(1000) }
        await time.sleepers(1)
        task.cancel()
        let error = await #expect(throws: ImageError.self) { try await task.value }
        #expect(error?.code == "cancelled")
    }
}
