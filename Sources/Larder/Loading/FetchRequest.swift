/// What ``CachingFetcher`` is asked for.
package struct FetchRequest: Sendable {
    /// What may be the answer.
    package enum Content: Sendable {
        /// A whole image with a status of success; anything else is an error.
        case image(ImageLimits, ImageFilter? = nil)
        /// Whatever the server answers, redirects and faults included: a cache of any content.
        case any
    }

    package var url: NormalizedURL
    /// `GET`, or `HEAD` for ``Content/any``.
    package var method = "GET"
    package var policy: CachePolicy
    /// Fields to send beside those of the fetcher. A `Cache-Control` among them is kept to.
    package var fields: HTTPFields
    package var content: Content
    package var priority: ImagePriority
    /// SHA-256 that the payload must have, 32 bytes; checked before it is stored. nil for any.
    package var sha256: [UInt8]?
    /// The most bytes of a body. 50 MiB by default.
    package var maxBytes: Int
    package var deadlines: Deadlines
    /// A key chosen by the caller in place of the URL; nil for the URL.
    package var cacheKey: String?
    /// The caller has just looked in the disk tier and found nothing: the turn to fetch is taken first, and one look
    /// is enough.
    package var isAfterMiss = false

    package init(
        url: NormalizedURL, policy: CachePolicy = .http, fields: HTTPFields = .init(),
        content: Content = .image(ImageLimits()), priority: ImagePriority = .normal,
        sha256: [UInt8]? = nil, maxBytes: Int = 50 << 20, deadlines: Deadlines = .init(), cacheKey: String? = nil
    ) {
        self.url = url
        self.policy = policy
        self.fields = fields
        self.content = content
        self.priority = priority
        self.sha256 = sha256
        self.maxBytes = maxBytes
        self.deadlines = deadlines
        self.cacheKey = cacheKey
    }

    /// The key of the original: with a partition of its own where credentials are sent.
    package var key: CacheKey {
        CacheKey(url: cacheKey ?? url.string, partition: Credentials.partition(fields))
    }

    /// Whether what was stored is what this request demands; the network's bytes were judged while they came.
    ///
    /// - Throws: as for an image that comes from the network.
    func judge(_ result: FetchResult) throws(ImageError) {
        guard result.source != .network, case .image(let limits, let filter) = content else { return }
        guard result.payloadLength <= maxBytes else {
            throw .tooLarge(.init("\(result.payloadLength) bytes are stored, the limit is \(maxBytes)"))
        }
        guard let header = result.header else { return }
        try limits.check(header)
        try filter?.check(header)
    }

    /// Whether whatever the server says is the answer.
    var takesAnything: Bool { if case .any = content { true } else { false } }
}

extension Credentials {
    /// What stands for them in a key: SHA-256 over the credentials, 64 hex digits; nil where there are none.
    package static func partition(_ fields: HTTPFields) -> String? {
        let secrets = fields.fields.filter { isCredential($0.name) }
        if secrets.isEmpty { return nil }
        let lines = secrets.map { "\($0.name.lowercased()):\($0.value)\n" }.sorted()
        return SHA256.digest(Array(lines.joined().utf8)).hex
    }
}
