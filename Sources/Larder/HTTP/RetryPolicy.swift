/// When a failed request is sent again: only what can help, later each time, and never past the deadline.
///
/// Exponential back-off with full jitter: the n-th wait is a random time up to `baseDelay` × 2ⁿ, so that many clients
/// that failed together do not come back together.
public struct RetryPolicy: Sendable, Hashable {
    /// Retries after the first attempt. 3 by default; 0 for none.
    public var maxRetries: Int
    /// Seconds that the first wait lasts at most. 0.5 by default.
    public var baseDelay: Double
    /// Seconds that any wait of ours lasts at most. 20 by default.
    public var maxDelay: Double
    /// The longest `Retry-After`, in seconds, that is waited for. A server that asks for more is not asked again.
    /// 30 by default.
    public var maxRetryAfter: Double

    /// What is not given has its default.
    public init(
        maxRetries: Int = 3, baseDelay: Double = 0.5, maxDelay: Double = 20, maxRetryAfter: Double = 30
    ) {
        self.maxRetries = maxRetries
        self.baseDelay = baseDelay
        self.maxDelay = maxDelay
        self.maxRetryAfter = maxRetryAfter
    }

    /// Never a second attempt.
    public static let none = RetryPolicy(maxRetries: 0)

    /// Seconds to wait before the next attempt, or nil where there is to be none.
    ///
    /// - Parameters:
    ///   - failures: attempts that have failed so far, at least 1.
    ///   - remaining: seconds to the total deadline. A wait that would pass it is no wait but the end.
    ///   - random: a number from 0 to 1.
    package func delay(
        after error: ImageError, failures: Int, remaining: Double, random: () -> Double
    ) -> Double? {
        guard failures >= 1, failures <= maxRetries, error.isRetryable else { return nil }
        // What passed was the deadline of the whole work.
        if case .timedOut(.total, _) = error { return nil }
        let growth = Double(sign: .plus, exponent: min(failures - 1, 60), significand: 1)
        let jitter = min(max(0, baseDelay) * growth, max(0, maxDelay)) * min(max(0, random()), 1)
        var wait = jitter
        if let asked = error.details.retryAfter {
            guard asked <= maxRetryAfter else { return nil }
            // All who were asked to wait for the same time would else come back together.
            wait = max(0, asked) + min(jitter, 1)
        }
        return wait < remaining ? wait : nil
    }

    /// Seconds that `Retry-After` asks for (RFC 9110 §10.2.3), as a number or a date; nil where it is neither.
    package static func retryAfter(_ fields: HTTPFields, now: Timestamp) -> Double? {
        guard let value = fields.first("retry-after") else { return nil }
        if let seconds = FieldReader.deltaSeconds(value) { return Double(seconds) }
        return HTTPDate.parse(value, now: now).map { Double(max(0, $0.seconds(since: now))) }
    }
}
