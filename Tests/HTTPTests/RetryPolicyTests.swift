import Testing

@testable import Larder

@Suite struct RetryPolicyTests {
    private func delay(
        _ error: ImageError, failures: Int = 1, remaining: Double = 1000, random: Double = 1,
        policy: RetryPolicy = .init()
    ) -> Double? {
        policy.delay(after: error, failures: failures, remaining: remaining, random: { random })
    }

    @Test func onlyWhatCanHelpIsRetried() {
        for error in [
            ImageError.unreachable(.init()), .timedOut(.connect, .init()), .timedOut(.idle, .init()),
            .truncated(.init()),
        ] {
            #expect(delay(error) != nil)
        }
        for status in [408, 429, 500, 502, 503, 504] { #expect(delay(.httpStatus(status, .init())) != nil) }
        for status in [400, 401, 403, 404, 407, 410, 416, 501, 505] {
            #expect(delay(.httpStatus(status, .init())) == nil)
        }
        for error in [
            ImageError.timedOut(.total, .init()), .invalidURL(.init()), .refused(.host, .init()), .notAnImage(.init()),
            .corrupt(.init()), .tooLarge(.init()), .hashMismatch(.init()), .cancelled(.init()),
            .cacheUnavailable(.init()),
            .unreachable(.init(isTransient: false)),
        ] {
            #expect(delay(error) == nil)
        }
    }

    @Test func waitsGrowAreCappedAndHaveFullJitter() {
        let policy = RetryPolicy(maxRetries: 100, baseDelay: 1, maxDelay: 10)
        let error = ImageError.unreachable(.init())
        #expect((1...6).map { delay(error, failures: $0, policy: policy) } == [1, 2, 4, 8, 10, 10])
        #expect(delay(error, failures: 3, random: 0, policy: policy) == 0)
        #expect(delay(error, failures: 3, random: 0.25, policy: policy) == 1)
        #expect(delay(error, failures: 100, policy: policy) == 10)
        #expect(delay(error, failures: 101, policy: policy) == nil)
        #expect(delay(error, policy: .none) == nil)
    }

    @Test func noWaitPassesTheDeadline() {
        #expect(delay(.unreachable(.init()), remaining: 0.5) == nil)
        #expect(delay(.unreachable(.init()), remaining: 0.6) == 0.5)
        #expect(delay(.httpStatus(503, .init(retryAfter: 20)), remaining: 20) == nil)
    }

    @Test func retryAfterIsWaitedForUpToALimit() {
        #expect(delay(.httpStatus(503, .init(retryAfter: 20)), random: 0) == 20)
        #expect(delay(.httpStatus(503, .init(retryAfter: 20)), random: 1) == 20.5)
        #expect(delay(.httpStatus(503, .init(retryAfter: 31))) == nil)
        #expect(delay(.httpStatus(503, .init(retryAfter: 0)), random: 0) == 0)
    }

    @Test func retryAfterIsSecondsOrADate() {
        let now = Timestamp(milliseconds: 1_768_478_400_000)
        func read(_ value: String) -> Double? { RetryPolicy.retryAfter(["Retry-After": value], now: now) }
        #expect(read("120") == 120)
        #expect(read("Thu, 15 Jan 2026 12:01:00 GMT") == 60)
        #expect(read("Thu, 15 Jan 2026 11:00:00 GMT") == 0)
        #expect(read("99999999999999999999") == Double(1 << 31))
        for nonsense in ["-5", "1.5", "soon", ""] { #expect(read(nonsense) == nil) }
        #expect(RetryPolicy.retryAfter([:], now: now) == nil)
    }
}
