/// What is stored behind an entry's payload. What a hit needs of it stands at fixed offsets in binary; the rest
/// is JSON, read only when asked for. See Documentation/entry-format.md.
package struct EntryMetadata: Sendable, Hashable {
    /// The key's parts; compared when an entry is opened.
    package var key: CacheKey
    /// The URL that answered, after redirects, without user info.
    package var finalURL: String
    /// The response's status; 0 for what was not fetched (a variant, an import).
    package var status: Int
    /// The response's header fields worth keeping; never `Set-Cookie`.
    package var fields: HTTPFields
    /// The request's values of the fields that `Vary` names.
    package var varyFields: HTTPFields
    /// When the request was sent and its response received (RFC 9111 §4.2.3).
    package var requestTime: Timestamp
    package var responseTime: Timestamp
    package var freshness: StoredFreshness
    /// Asked for with credentials, or `Cache-Control: private`.
    package var isPrivate: Bool
    /// The image's header; nil for a payload that is no image (the relay's).
    package var header: ImageHeader?
    /// SHA-256 of the payload, 32 bytes. Filled in by the writer.
    package var sha256: [UInt8]
    /// For a variant: what it was made of.
    package var source: VariantSource?
    /// Small facts beside these, such as a ThumbHash: kept, and unknown ones survive a rewrite.
    package var extra: [String: String]

    package struct VariantSource: Sendable, Hashable {
        package var key: CacheKey.Hash
        package var sha256: [UInt8]
        package init(key: CacheKey.Hash, sha256: [UInt8]) {
            self.key = key
            self.sha256 = sha256
        }
    }

    package init(
        key: CacheKey, finalURL: String, status: Int = 200, fields: HTTPFields = .init(),
        varyFields: HTTPFields = .init(), requestTime: Timestamp, responseTime: Timestamp,
        freshness: StoredFreshness, isPrivate: Bool = false, header: ImageHeader? = nil, sha256: [UInt8] = [],
        source: VariantSource? = nil, extra: [String: String] = [:]
    ) {
        self.key = key
        self.finalURL = finalURL
        self.status = status
        self.fields = fields
        self.varyFields = varyFields
        self.requestTime = requestTime
        self.responseTime = responseTime
        self.freshness = freshness
        self.isPrivate = isPrivate
        self.header = header
        self.sha256 = sha256
        self.source = source
        self.extra = extra
    }
}

extension EntryMetadata {
    /// The names in ``extra`` of what is drawn until the picture is there.
    enum Extra {
        static let thumbHash = "thumbhash"
        static let color = "color"
    }

    /// The members of ``extra`` for a placeholder.
    static func extra(_ placeholder: ImagePlaceholder) -> [String: String] {
        [Extra.thumbHash: placeholder.thumbHash.base64, Extra.color: placeholder.color.hex]
    }
}

/// The freshness of a stored response, reckoned once when it is stored, so that a hit needs one comparison.
package struct StoredFreshness: Sendable, Hashable {
    /// Until when it may be used without asking (RFC 9111 §4.2).
    package var freshUntil: Timestamp
    /// Until when it may be used while it is revalidated in the background (RFC 5861 §3).
    package var staleWhileRevalidateUntil: Timestamp
    /// Until when it may be used where revalidation fails (RFC 5861 §4).
    package var staleIfErrorUntil: Timestamp
    /// `must-revalidate`: never used stale.
    package var mustRevalidate: Bool
    /// `no-cache`: never used without asking.
    package var noCache: Bool
    /// `immutable` (RFC 8246): a reload need not ask while it is fresh.
    package var immutable: Bool
    /// `Vary` is present: the request's fields must be compared, which needs the JSON part.
    package var hasVary: Bool

    package init(
        freshUntil: Timestamp, staleWhileRevalidateUntil: Timestamp = .distantPast,
        staleIfErrorUntil: Timestamp = .distantPast, mustRevalidate: Bool = false, noCache: Bool = false,
        immutable: Bool = false, hasVary: Bool = false
    ) {
        self.freshUntil = freshUntil
        self.staleWhileRevalidateUntil = staleWhileRevalidateUntil
        self.staleIfErrorUntil = staleIfErrorUntil
        self.mustRevalidate = mustRevalidate
        self.noCache = noCache
        self.immutable = immutable
        self.hasVary = hasVary
    }
}
