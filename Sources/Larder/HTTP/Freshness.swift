/// How long a stored response may be used: RFC 9111 §4.2 as pure functions over its fields and times.
///
/// Reckoned as a private cache does: `s-maxage` and `proxy-revalidate` make no difference.
package struct Freshness: Sendable {
    package let status: Int
    package let fields: HTTPFields
    package let control: CacheControl
    /// When the request was sent.
    package let requestTime: Timestamp
    /// When the response's head came.
    package let responseTime: Timestamp

    package init(status: Int, fields: HTTPFields, requestTime: Timestamp, responseTime: Timestamp) {
        self.status = status
        self.fields = fields
        control = CacheControl(fields)
        date = fields.first("date").flatMap { HTTPDate.parse($0, now: responseTime) }
        // A clock that was set back in between is no negative delay.
        self.requestTime = min(requestTime, responseTime)
        self.responseTime = responseTime
    }

    /// `date_value` (§4.2.3); nil where `Date` is absent or invalid.
    package let date: Timestamp?

    /// `age_value` (§5.1): the first member of `Age`; 0 where it is absent or no number.
    package var ageValue: Int64 {
        guard let field = fields.first("age") else { return 0 }
        let first = field.prefix { $0 != "," }.drop { $0 == " " }
        return FieldReader.deltaSeconds(first.prefix { $0 != " " }) ?? 0
    }

    /// `corrected_initial_age` (§4.2.3) in milliseconds: the greater of what the clocks say and what the caches on
    /// the way said plus the time that the answer took.
    package var initialAge: Int64 {
        // `Date` counts whole seconds: a part of one is no age. A clock of theirs that runs ahead is no negative age.
        let apparent = date.map { max(0, responseTime.seconds(since: $0)) } ?? 0
        let delay = Self.milliseconds(from: requestTime, to: responseTime)
        return max(Self.clamped(apparent) * 1000, ageValue * 1000 + delay)
    }

    /// `current_age` (§4.2.3) in whole seconds: what `Age` says when the response is sent on.
    package func age(now: Timestamp) -> Int64 {
        (initialAge + Self.milliseconds(from: responseTime, to: now)) / 1000
    }

    /// `freshness_lifetime` (§4.2.1) in seconds, never negative.
    package func lifetime(_ options: FreshnessOptions) -> Int64 {
        if let maxAge = control.maxAge { return maxAge }
        let expires = fields.values("expires")
        if let first = expires.first {
            // An invalid date, `0` above all, is in the past (§5.3).
            guard let end = HTTPDate.parse(first, now: responseTime) else { return 0 }
            return Self.clamped(end.seconds(since: date ?? responseTime))
        }
        return heuristicLifetime(options)
    }

    /// §4.2.2: only where nothing explicit is said, and the status or `public` or `private` allows it.
    private func heuristicLifetime(_ options: FreshnessOptions) -> Int64 {
        guard Storability.isHeuristicallyCacheable(status) || control.isPublic else { return 0 }
        guard let modified = fields.first("last-modified").flatMap({ HTTPDate.parse($0, now: responseTime) })
        else { return Self.clamped(options.defaultLifetime) }
        let since = Self.clamped((date ?? responseTime).seconds(since: modified))
        let share = min(max(0, options.heuristicFraction), 1)
        return min(Int64(Double(since) * share), Self.clamped(options.heuristicLimit))
    }

    /// The whole reckoning in the form that is stored, so that a hit needs one comparison.
    package func stored(_ options: FreshnessOptions) -> StoredFreshness {
        let remaining = lifetime(options) * 1000 - initialAge
        let freshUntil = responseTime.adding(milliseconds: remaining)
        let forbidsStale = control.mustRevalidate || control.noCache
        func window(_ seconds: Int64?) -> Timestamp {
            guard !forbidsStale, let seconds, seconds > 0 else { return .distantPast }
            return freshUntil.adding(seconds: seconds)
        }
        let onError = control.staleIfError ?? options.staleIfError
        return StoredFreshness(
            freshUntil: freshUntil,
            staleWhileRevalidateUntil: window(control.staleWhileRevalidate),
            staleIfErrorUntil: onError == nil && !forbidsStale ? .distantFuture : window(onError),
            mustRevalidate: control.mustRevalidate, noCache: control.noCache, immutable: control.immutable,
            hasVary: Vary(fields) != .none)
    }

    private static func clamped(_ seconds: Int64) -> Int64 { min(max(0, seconds), 1 << 31) }

    /// Never negative, and held to a range in which sums cannot overflow.
    private static func milliseconds(from earlier: Timestamp, to later: Timestamp) -> Int64 {
        let (difference, overflow) = later.milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        return later <= earlier ? 0 : overflow ? 1 << 42 : min(difference, 1 << 42)
    }
}
