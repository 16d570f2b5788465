/// What tells one version of a stored response from the next (RFC 9110 §8.8, RFC 9111 §4.3).
package struct Validators: Sendable, Hashable {
    package var etag: EntityTag?
    /// `Last-Modified` exactly as received, because servers compare it as text.
    package var lastModified: String?
    /// Whether the date is at least a minute older than the response's own `Date`, which makes it strong
    /// (RFC 9110 §8.8.2.2).
    package var lastModifiedIsStrong: Bool

    /// - Parameter now: decides the century of two-digit years, nothing else.
    package init(_ fields: HTTPFields, now: Timestamp) {
        etag = fields.first("etag").flatMap(EntityTag.init)
        lastModified = fields.first("last-modified")
        let modified = lastModified.flatMap { HTTPDate.parse($0, now: now) }
        if modified == nil { lastModified = nil }
        let date = fields.first("date").flatMap { HTTPDate.parse($0, now: now) }
        if let modified, let date {
            lastModifiedIsStrong = date.seconds(since: modified) >= 60
        } else {
            lastModifiedIsStrong = false
        }
    }

    package var isEmpty: Bool { etag == nil && lastModified == nil }

    /// The fields that ask whether the stored response is still good: `If-None-Match` before `If-Modified-Since`
    /// (RFC 9111 §4.3.1). Both are sent where both are known: a recipient of the first ignores the second.
    package var conditionalFields: [HTTPFields.Field] {
        var fields: [HTTPFields.Field] = []
        if let etag { fields.append(.init("If-None-Match", etag.text)) }
        if let lastModified { fields.append(.init("If-Modified-Since", lastModified)) }
        return fields
    }

    /// What `If-Range` may carry: a strong validator or nothing (RFC 9110 §13.1.5).
    package var ifRange: String? {
        if let etag { return etag.isWeak ? nil : etag.text }
        return lastModifiedIsStrong ? lastModified : nil
    }

    /// Whether a 304 with these fields speaks of the stored response (RFC 9111 §4.3.4). One that names another
    /// version must not update it.
    package func areConfirmed(by notModified: Validators) -> Bool {
        if let new = notModified.etag {
            if let etag { return new.isWeak ? etag.matchesWeakly(new) : etag.opaque == new.opaque }
            // A strong tag that we never had names another version; a weak one says little.
            return new.isWeak && notModified.lastModified == lastModified
        }
        if let new = notModified.lastModified, let lastModified { return new == lastModified }
        return true
    }

    /// Whether a request with these fields is answered by 304 from this stored response (RFC 9110 §13.2.2):
    /// `If-None-Match` decides alone where it is present.
    ///
    /// - Parameter storedAt: stands in for `Last-Modified` where the response has none.
    package func areCurrent(for request: HTTPFields, storedAt: Timestamp, now: Timestamp) -> Bool {
        let noneMatch = request.values("if-none-match")
        if !noneMatch.isEmpty {
            if noneMatch.contains(where: { $0 == "*" }) { return true }
            guard let etag else { return false }
            return EntityTag.list(noneMatch).contains { $0.matchesWeakly(etag) }
        }
        guard let since = request.first("if-modified-since").flatMap({ HTTPDate.parse($0, now: now) }) else {
            return false
        }
        let modified = lastModified.flatMap { HTTPDate.parse($0, now: now) } ?? storedAt
        return modified <= since
    }
}
