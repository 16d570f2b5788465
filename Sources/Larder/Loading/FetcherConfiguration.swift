/// How a ``CachingFetcher`` behaves.
package struct FetcherConfiguration: Sendable {
    package var freshness = FreshnessOptions()
    package var retries = RetryPolicy()
    package var limits = HostLimiter.Limits()
    package var breaker = CircuitBreaker.Options()
    /// Bytes a second of all transfers together; nil for no limit.
    package var bytesPerSecond: Int?
    /// Sent as `User-Agent` where a request has none: who asks, and where to complain.
    package var userAgent = LarderVersion.userAgent
    package var addresses = AddressPolicy.any
    /// Keep to `robots.txt`.
    package var keepsRobots = false
    /// Keep to `X-Robots-Tag: noai` and the like.
    package var keepsRobotsTag = false
    /// Seconds that a definitive failure (404, 410, not an image) is remembered. 300 by default; 0: never.
    package var failureLifetime: Int64 = 300
    /// Stale images that are revalidated in the background at once; more are served stale and left for later.
    package var maxBackgroundRevalidations = 8
    /// Bytes that gather in memory before they are handed to the disk tier: most images are stored in one piece.
    package var batchBytes = 512 << 10
    package var observer: FetchObserver?

    package init() {}
}
