import Larder

/// What the API tells of the directory. Every call blocks on the index or on files.
package final class EntryListing: Sendable {
    private let tier: DiskTier
    private let limits: ImageLimits
    private let time: any TimeSource

    package init(tier: DiskTier, limits: ImageLimits, time: any TimeSource) {
        self.tier = tier
        self.limits = limits
        self.time = time
    }

    package func entries(_ query: EntryListQuery, withPrivate: Bool) -> Result<Answer, Problem> {
        .failure(Problem(501, "not_built", "Listing is not there yet."))
    }

    package func stats() -> Result<Answer, Problem> {
        .failure(Problem(501, "not_built", "Listing is not there yet."))
    }

    package func entry(_ hash: CacheKey.Hash, withPrivate: Bool) -> Result<Answer, Problem> {
        .failure(Problem(501, "not_built", "Listing is not there yet."))
    }

    package func remove(_ hash: CacheKey.Hash) -> Result<Answer, Problem> {
        .failure(Problem(501, "not_built", "Listing is not there yet."))
    }

    package func gauges() -> Metrics.Gauges { Metrics.Gauges() }
}
