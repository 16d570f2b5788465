/// What may be done with a stored response for a request: RFC 9111 §4 and RFC 5861 under a ``CachePolicy``.
package enum Reuse: Sendable, Hashable {
    /// Use it without asking.
    case fresh
    /// Use it without asking, and say that it is stale.
    case stale
    /// Use it, say that it is stale, and revalidate it in the background.
    case staleWhileRevalidate
    /// Ask the server first.
    case revalidate
    /// Fetch anew, without validators.
    case refetch
    /// The network may not be used and this may not be either.
    case unusable

    /// - Parameters:
    ///   - request: the directives of the request's own `Cache-Control`.
    ///   - age: `current_age` in seconds; only asked for where the request names a `max-age`.
    package static func decide(
        _ stored: StoredFreshness, storedAt: Timestamp, policy: CachePolicy, request: CacheControl = CacheControl(),
        now: Timestamp, age: () -> Int64 = { 0 }
    ) -> Reuse {
        switch policy {
        case .reload: return .refetch
        case .immutable: return .fresh
        case .offlineOnly(let maxStale):
            if !stored.noCache, isFresh(stored, storedAt, now) { return .fresh }
            if stored.noCache || stored.mustRevalidate { return .unusable }
            guard let maxStale else { return .stale }
            let limit = Int64(exactly: max(0, maxStale).rounded(.up)) ?? .max
            return now <= stored.freshUntil.adding(seconds: limit) ? .stale : .unusable
        case .revalidate:
            // RFC 8246 §2: what is immutable is not asked for again while it is fresh.
            return stored.immutable && !stored.noCache && isFresh(stored, storedAt, now) ? .fresh : .revalidate
        case .http:
            break
        }
        if stored.noCache || request.noCache { return .revalidate }
        if let maxAge = request.maxAge, age() > maxAge { return .revalidate }
        if isFresh(stored, storedAt, now), remains(stored, now, request.minFresh) { return .fresh }
        if stored.mustRevalidate || request.minFresh != nil { return .revalidate }
        if let maxStale = request.maxStale, now < stored.freshUntil.adding(seconds: maxStale) { return .stale }
        return now < stored.staleWhileRevalidateUntil && now >= stored.freshUntil ? .staleWhileRevalidate : .revalidate
    }

    /// Whether the stored response may stand in where asking has failed (§4.2.4, §4.3.3, RFC 5861 §4): the origin
    /// cannot be reached or answers with a fault of its own, and nothing forbids a stale answer.
    package static func mayServeOnError(
        _ stored: StoredFreshness, policy: CachePolicy, error: ImageError, now: Timestamp
    ) -> Bool {
        guard policy != .reload, !stored.noCache else { return false }
        guard !stored.mustRevalidate || now < stored.freshUntil else { return false }
        guard now < max(stored.staleIfErrorUntil, stored.freshUntil) else { return false }
        return switch error {
        case .unreachable, .timedOut, .truncated: true
        case .httpStatus(let status, _): status >= 500 || status == 429 || status == 408
        case .refused(.busy, _): true
        default: false
        }
    }

    /// An entry from the future was stored by a clock that went wrong: it is not trusted to be fresh.
    private static func isFresh(_ stored: StoredFreshness, _ storedAt: Timestamp, _ now: Timestamp) -> Bool {
        now < stored.freshUntil && storedAt <= now.adding(seconds: 3600)
    }

    private static func remains(_ stored: StoredFreshness, _ now: Timestamp, _ seconds: Int64?) -> Bool {
        guard let seconds else { return true }
        return now.adding(seconds: seconds) < stored.freshUntil
    }
}
