/// One thing that happened in an ``ImageLoader``.
public struct LoaderEvent: Sendable {
    /// What happened.
    public enum Kind: Sendable {
        /// A load began: memory did not have the picture, and nobody else was loading it.
        case started
        /// A claim joined a load, or a load joined a fetch, that was under way already.
        case coalesced
        /// Memory had the picture.
        case memoryHit
        /// The disk tier had the image or its thumbnail; stale where it was no longer fresh (RFC 9111 §4.2.4).
        case diskHit(isStale: Bool)
        /// The server said that what is stored is still good (304).
        case revalidated
        /// The server sent the image: its bytes, after so many requests.
        case fetched(bytes: Int, attempts: Int)
        /// A picture was decoded, scaled and processed; its size in pixels.
        case decoded(width: Int, height: Int)
        /// Memory let a picture of so many bytes go, to keep its limits or under memory pressure.
        case evicted(bytes: Int)
        /// A load ended well; where the picture came from.
        case finished(LoadedImage.Source)
        /// A load failed, or was cancelled by the last who waited for it.
        case failed(ImageError)
    }

    /// What happened.
    public let kind: Kind
    /// What it happened to: an image or, for loads of another size, a variant of one.
    public let key: CacheKey
    /// How long it took, in seconds: the whole load for `finished` and `failed`; the look-up or the exchange with
    /// the server, waiting for its turn included, for `diskHit`, `revalidated` and `fetched`; the work and the wait
    /// for a thread for `decoded`; 0 for the others.
    public let seconds: Double
}
