/// What may be stored (RFC 9111 §3), and with which fields (§3.1).
package enum Storability {
    /// Statuses whose responses may be given a freshness that they do not state (RFC 9110 §15.1).
    package static func isHeuristicallyCacheable(_ status: Int) -> Bool {
        [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501].contains(status)
    }

    /// Statuses whose caching we understand, which `must-understand` asks for (§5.2.2.3).
    private static func isUnderstood(_ status: Int) -> Bool {
        isHeuristicallyCacheable(status) || [302, 303, 307].contains(status)
    }

    /// Whether a private cache may store the response as a whole. A request with `Authorization` makes no difference
    /// to it (§3.5 is for shared caches), but to the key.
    package static func mayStore(
        method: String, request: HTTPFields, status: Int, response: HTTPFields
    ) -> Bool {
        // Parts are never stored: a 206 belongs to the download that it continues (§3.3, §3.4).
        guard method == "GET", !request.contains("range"), status >= 200, status != 206, status != 304 else {
            return false
        }
        let control = CacheControl(response)
        guard !CacheControl(request).noStore else { return false }
        if control.mustUnderstand {
            guard isUnderstood(status) else { return false }
        } else if control.noStore {
            return false
        }
        // It would never match a request.
        guard Vary(response) != .any else { return false }
        return control.maxAge != nil || response.contains("expires") || control.isPublic || control.isPrivate
            || isHeuristicallyCacheable(status)
    }

    /// The fields that are stored: not those of the connection, not those of a proxy, never cookies, and none that
    /// `no-cache="…"` names.
    ///
    /// - Parameter keeps: which of the others are kept; all by default.
    package static func storedFields(
        _ response: HTTPFields, where keeps: (HTTPFields.Field) -> Bool = { _ in true }
    ) -> HTTPFields {
        let named = FieldReader.lowercasedTokens(response.values("connection")) + CacheControl(response).noCacheFields
        return HTTPFields(
            response.fields.filter { field in
                keeps(field) && !connectionFields.contains(field.name)
                    && !named.contains(where: field.name.equalsIgnoringCase)
            })
    }

    /// Fields that end at the next hop, and `Set-Cookie`, which a cache that outlives the session must not repeat.
    package static let connectionFields: FieldNames = [
        "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authentication-info",
        "proxy-authorization", "te", "trailer", "transfer-encoding", "upgrade", "set-cookie", "set-cookie2",
    ]

    /// What remains of a stored response's fields when a 304 has confirmed it (§3.2, §4.3.4): each field of the 304
    /// replaces the stored one of that name, except those that describe the stored bytes. `must-revalidate` stays,
    /// even where the 304 has a `Cache-Control` without it, and so does a stored ETag.
    package static func merge(_ stored: HTTPFields, notModified: HTTPFields) -> HTTPFields {
        let update = storedFields(notModified).fields.filter { field in
            if field.name.equalsIgnoringCase("etag") { return !stored.contains("etag") }
            return !payloadFields.contains(field.name)
        }
        let replaced = Set(update.map { $0.name.lowercased() })
        var merged = HTTPFields(stored.fields.filter { !replaced.contains($0.name.lowercased()) } + update)
        // `Age` and `Date` told how old the earlier answer was; without a date it counts from when it came
        // (RFC 9110 §6.6.1).
        if !replaced.contains("age") { merged["age"] = nil }
        if !replaced.contains("date") { merged["date"] = nil }
        if CacheControl(stored).mustRevalidate, !CacheControl(merged).mustRevalidate {
            merged.append("Cache-Control", "must-revalidate")
        }
        return merged
    }

    private static let payloadFields: FieldNames = [
        "content-length", "content-encoding", "content-range",
    ]

    /// Whether a response to a request of that method makes what is stored for its URL, `Location` and
    /// `Content-Location` invalid (§4.4): unsafe or unknown methods that did not fail.
    package static func invalidates(method: String, status: Int) -> Bool {
        !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method) && (200..<400).contains(status)
    }
}
