import Foundation

extension ImageLoader {
    /// How an ``ImageLoader`` works. Every default is what a careful person would choose.
    public struct Configuration: Sendable {
        /// Where bytes come from. nil, the default: a ``URLSessionTransport``.
        public var transport: (any Transport)?
        /// Which redirects are followed.
        public var redirects = RedirectPolicy()
        /// Which hosts may be asked. All by default.
        public var hosts = HostPolicy()
        /// Which network addresses may be connected to. All by default.
        public var addresses = AddressPolicy.any
        /// Which failures are tried again, and how often.
        public var retries = RetryPolicy()
        /// How long each part of a load may take.
        public var deadlines = Deadlines()
        /// Requests under way at once. 16 by default.
        public var maxFetches = 16
        /// Requests under way to one host at once. 6 by default.
        public var maxFetchesPerHost = 6
        /// Requests a second that begin to one host, redirects counted; nil, the default, for no limit.
        public var requestsPerSecondPerHost: Double?
        /// Bytes a second of all transfers together; nil, the default, for no limit.
        public var bytesPerSecond: Int?
        /// Sent as `User-Agent`: who asks, and where to complain.
        public var userAgent = LarderVersion.userAgent
        /// Whether `robots.txt` is kept to. False by default.
        public var keepsRobots = false
        /// Whether `X-Robots-Tag: noai` and the like are kept to. False by default.
        public var keepsRobotsTag = false

        /// What is assumed where a response does not say how long it is fresh: 7 days.
        public var freshness = FreshnessOptions()
        /// Seconds for which a definitive failure (404, 410, not an image) is remembered. 300 by default; 0: never.
        public var failureLifetime = 300
        /// Drops from cache keys what does not name the picture. Nothing by default.
        public var keyNormalizer = CacheKey.Normalizer()

        /// The directory of the disk tier; nil for none. `$XDG_CACHE_HOME/larder`, or `~/.cache/larder`, by default.
        public var cacheDirectory = Self.defaultCacheDirectory
        /// Bytes on disk that the disk tier may use. 2 GiB by default.
        public var maxDiskBytes = 2 << 30
        /// Entries that the disk tier may hold. 1,000,000 by default.
        public var maxDiskCount = 1_000_000
        /// Seconds after which an entry that was neither stored nor revalidated goes; nil, the default: never.
        public var maxDiskAge: Int?
        /// Whether a directory that is neither empty nor marked as ours may be used; its files stay untouched. False
        /// by default.
        public var adoptsCacheDirectory = false
        /// Told once of each thing that keeps the disk tier from storing; images load all the same.
        public var onCacheWarning: @Sendable (String) -> Void = { _ in }
        /// Limits of the memory tier.
        public var memory = MemoryTier.Configuration()

        /// What an image may cost.
        public var limits = ImageLimits()
        /// The most bytes of one image's file. 50 million by default.
        public var maxBodyBytes = 50_000_000
        /// Images decoded at once. The number of processors by default.
        public var maxDecodes = ProcessInfo.processInfo.activeProcessorCount
        /// Bytes that all decodes together may hold. 1 GiB by default; one decode may always run.
        public var maxDecodeBytes = 1 << 30
        /// Previews of a progressive JPEG or an interlaced PNG while it arrives, at most. 3 by default; 0 for none.
        public var maxPreviews = 3
        /// What thumbnails are written as. JPEG of quality 85 by default, PNG where there is alpha.
        public var thumbnailOutput = ThumbnailOutput()

        /// Every default.
        public init() {}

        private static var defaultCacheDirectory: String? {
            let environment = ProcessInfo.processInfo.environment
            if let path = environment["XDG_CACHE_HOME"], path.hasPrefix("/") { return path + "/larder" }
            if let home = environment["HOME"], home.hasPrefix("/") { return home + "/.cache/larder" }
            return nil
        }
    }
}

extension ImageLoader.Configuration {
    /// Threads for the disk tier at most: its calls are short, but a slow disk must not hold everybody up.
    var maxFileOperations: Int { max(2, min(8, maxFetches / 2)) }

    package var diskTier: DiskTierConfiguration {
        var disk = DiskTierConfiguration()
        disk.maximumBytes = Int64(maxDiskBytes)
        disk.maximumCount = Int64(maxDiskCount)
        disk.maximumAge = maxDiskAge.map(Int64.init)
        disk.adopts = adoptsCacheDirectory
        disk.maximumBytesInMemory = maxBodyBytes
        disk.warnings = onCacheWarning
        return disk
    }

    var fetcher: FetcherConfiguration {
        var fetcher = FetcherConfiguration()
        fetcher.freshness = freshness
        fetcher.retries = retries
        fetcher.limits = HostLimiter.Limits(
            total: maxFetches, perHost: maxFetchesPerHost, perSecond: requestsPerSecondPerHost)
        fetcher.bytesPerSecond = bytesPerSecond
        fetcher.userAgent = userAgent
        fetcher.addresses = addresses
        fetcher.keepsRobots = keepsRobots
        fetcher.keepsRobotsTag = keepsRobotsTag
        fetcher.failureLifetime = Int64(failureLifetime)
        return fetcher
    }
}
