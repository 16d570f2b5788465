/// What one fetch from the network works with.
struct FetchPlan: Sendable {
    let request: FetchRequest
    let key: CacheKey
    /// What is sent, conditions and ranges apart; what `Vary` is judged by.
    let fields: HTTPFields
    /// What is stored and to be confirmed; nil asks for the whole.
    var stored: CachingFetcher.Stored?
    /// The kept beginning of a cut transfer, to be continued.
    var beginning: Beginning?
    /// An attempt of this fetch was cut and its beginning kept.
    var hasKept = false
    /// Monotonic nanoseconds; nil where the clock begins to run with the first turn to ask.
    var deadline: UInt64?
    let priority: SharedPriority
    let hub: ProgressHub
    var method: String { request.method }

    /// The fields of a response that are worth keeping for an image; for other content all are (RFC 9111 §3.1).
    static let imageFields: FieldNames = [
        "accept-ranges", "age", "cache-control", "content-disposition", "content-language", "content-length",
        "content-location", "content-type", "date", "etag", "expires", "last-modified", "vary", "x-robots-tag",
    ]

    func storedFields(_ response: HTTPFields) -> HTTPFields {
        if request.takesAnything { return Storability.storedFields(response) }
        // A value too long to be of use would cost the entry its place: the metadata are bounded.
        return Storability.storedFields(response) {
            Self.imageFields.contains($0.name) && $0.value.utf8.count <= 1024
        }
    }

    /// The URL that has answered, after redirects.
    func finalURL(_ response: HTTPResponse) -> String {
        response.redirects == 0 ? request.url.string : response.url.absoluteString
    }

    /// Whether the response comes from where the stored one came from: validators and ranges say nothing of another
    /// resource (RFC 9110 §8.8). Under a key of the caller's own, URLs that are asked for are all the same one.
    func isAnswer(_ response: HTTPResponse, from storedURL: String) -> Bool {
        finalURL(response) == storedURL || request.cacheKey != nil && response.redirects == 0
    }

    /// Where the answer is kept: what is private without credentials has a key of its own.
    func storageKey(_ fields: HTTPFields) -> CacheKey {
        guard CacheControl(fields).isPrivate else { return key }
        return key.ofPrivateAnswer ?? key
    }

    func metadata(
        key: CacheKey, status: Int, fields: HTTPFields, finalURL: String, requestTime: Timestamp,
        responseTime: Timestamp,
        header: ImageHeader?, options: FreshnessOptions
    ) -> EntryMetadata {
        let freshness = Freshness(
            status: status, fields: fields, requestTime: requestTime, responseTime: responseTime)
        return EntryMetadata(
            key: key, finalURL: finalURL, status: status, fields: fields,
            varyFields: Vary(fields).values(of: self.fields), requestTime: requestTime, responseTime: responseTime,
            freshness: freshness.stored(options), isPrivate: key.partition != nil || freshness.control.isPrivate,
            header: header)
    }
}
