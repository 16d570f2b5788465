/// What the cache assumes where a response does not say.
public struct FreshnessOptions: Sendable, Hashable {
    /// Share of the time since `Last-Modified` that a response without an expiry counts as fresh. 0.1 by default, as
    /// RFC 9111 §4.2.2 suggests; 0 turns the heuristic off.
    public var heuristicFraction: Double
    /// The most seconds that the heuristic gives. 7 days by default.
    public var heuristicLimit: Int64
    /// Seconds that a response with neither expiry nor `Last-Modified` counts as fresh. 7 days by default; 0: never.
    public var defaultLifetime: Int64
    /// Seconds past its freshness that an image may stand in while its server fails, where the response itself names
    /// no `stale-if-error`. nil, the default: however old. 0: never.
    public var staleIfError: Int64?

    /// What is not given has its default.
    public init(
        heuristicFraction: Double = 0.1, heuristicLimit: Int64 = 7 * 86_400, defaultLifetime: Int64 = 7 * 86_400,
        staleIfError: Int64? = nil
    ) {
        self.heuristicFraction = heuristicFraction
        self.heuristicLimit = heuristicLimit
        self.defaultLifetime = defaultLifetime
        self.staleIfError = staleIfError
    }

    /// Nothing assumed beyond RFC 9111: for a cache of any content.
    package static let strict = FreshnessOptions(defaultLifetime: 0)
}
