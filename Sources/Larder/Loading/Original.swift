/// An image as it was fetched, on disk or in memory, ready to be decoded.
struct Original: Sendable {
    let key: CacheKey
    let header: ImageHeader
    let freshness: StoredFreshness
    let source: LoadedImage.Source
    let isStale: Bool
    /// 32 bytes.
    let sha256: [UInt8]
    /// Of the image's file.
    let bytes: Int
    /// nil where the image may not be stored, or there is no disk tier.
    let entry: StoredEntry?
    /// The fields of the request that it answers.
    let fields: HTTPFields
    /// Whether memory may answer another request with what is made of it (RFC 9111 §3).
    let mayStay: Bool
    private let fetched: FetchResult

    /// - Throws: ``ImageError/notAnImage(_:)`` where what was fetched is not one: the fetcher's inspector sees to it
    ///   that this does not happen.
    init(_ fetched: FetchResult, for request: ImageRequest) throws(ImageError) {
        guard let header = fetched.header else { throw .notAnImage(.init("the entry holds no image")) }
        self.header = header
        source = fetched.source
        isStale = fetched.isStale
        sha256 = fetched.sha256
        bytes = fetched.payloadLength
        fields = request.fields
        self.fetched = fetched
        switch fetched.payload {
        case .entry(let entry):
            self.entry = entry
            key = entry.key
            freshness = entry.freshness
            mayStay = true
        case .memory(_, let metadata):
            entry = nil
            key = metadata.key
            freshness = metadata.freshness
            mayStay = Storability.mayStore(
                method: "GET", request: request.fields, status: metadata.status, response: metadata.fields)
        }
    }

    /// A picture that was made of it, under its own key.
    func image(_ bitmap: Bitmap, _ key: CacheKey) -> LoadedImage {
        LoadedImage(
            DecodedImage(
                bitmap: bitmap, key: key, header: header, freshness: freshness, sha256: sha256, fields: fields),
            source: source, isStale: isStale)
    }

    /// The image's bytes, read and checked. Blocks.
    func payload() throws(ImageError) -> [UInt8] { try fetched.readPayload() }

    /// The same for the time of a call.
    func withPayload<Result>(
        _ body: (UnsafeRawBufferPointer) throws(ImageError) -> Result
    ) throws(ImageError) -> Result { try fetched.withPayload(body) }
}
