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
    private let fetched: FetchResult

    /// - Throws: ``ImageError/notAnImage(_:)`` where what was fetched is not one: the fetcher's inspector sees to it
    ///   that this does not happen.
    init(_ fetched: FetchResult) throws(ImageError) {
        guard let header = fetched.header else { throw .notAnImage(.init("the entry holds no image")) }
        self.header = header
        source = fetched.source
        isStale = fetched.isStale
        sha256 = fetched.sha256
        bytes = fetched.payloadLength
        self.fetched = fetched
        switch fetched.payload {
        case .entry(let entry):
            self.entry = entry
            key = entry.key
            freshness = entry.freshness
        case .memory(_, let metadata):
            entry = nil
            key = metadata.key
            freshness = metadata.freshness
        }
    }

    /// The image's bytes, read and checked. Blocks.
    func payload() throws(ImageError) -> [UInt8] { try fetched.readPayload() }

    /// The same for the time of a call.
    func withPayload<Result>(
        _ body: (UnsafeRawBufferPointer) throws(ImageError) -> Result
    ) throws(ImageError) -> Result { try fetched.withPayload(body) }
}
