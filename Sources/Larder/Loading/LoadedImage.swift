/// A picture that is ready to be drawn, and where it came from.
///
/// One reference and two flags: copying one copies no pixels. It may be used from any thread. While any copy of it
/// or its ``bitmap`` is alive, the memory tier finds it again without decoding a second time.
public struct LoadedImage: Sendable {
    /// Where a picture came from.
    public enum Source: String, Sendable, Hashable, Codable, CaseIterable {
        /// The memory tier: nothing was read or decoded.
        case memory
        /// The disk tier, without asking the server.
        case disk
        /// A response's body.
        case network
        /// The disk tier, after the server said that it is still good (304, RFC 9111 §4.3.4).
        case revalidated
    }

    /// What the memory tier keeps of it.
    package let decoded: DecodedImage
    /// Where this copy came from.
    public let source: Source
    /// Whether it was served although it is no longer fresh (RFC 9111 §4.2.4).
    public let isStale: Bool

    /// The pixels, upright: the header's orientation is already applied.
    public var bitmap: Bitmap { decoded.bitmap }
    /// What the image file says of itself. Width and height are those of the stored original, before orientation
    /// and before any resizing; those of the picture at hand are the bitmap's.
    public var header: ImageHeader { decoded.facts.header }
    /// The name under which the tiers keep it.
    public var key: CacheKey { decoded.facts.key }

    /// A loaded image from its parts, for previews, tests and processors.
    public init(bitmap: Bitmap, header: ImageHeader, key: CacheKey, source: Source, isStale: Bool = false) {
        self.init(DecodedImage(bitmap: bitmap, key: key, header: header), source: source, isStale: isStale)
    }

    package init(_ decoded: DecodedImage, source: Source, isStale: Bool = false) {
        self.decoded = decoded
        self.source = source
        self.isStale = isStale
    }

    /// When the picture stops being fresh; nil where it never does.
    package var freshness: StoredFreshness? { decoded.facts.freshness }
}

extension MemoryTier {
    /// The picture under `key`, at once, from any thread; nil where it is in no one's memory.
    ///
    /// Whether it is still fresh is the caller's to judge (``LoadedImage/isStale`` is false here).
    public func image(for key: CacheKey) -> LoadedImage? {
        guard let decoded = decoded(for: key) else { return nil }
        return LoadedImage(decoded, source: .memory)
    }

    /// Keeps `image` under its key, in place of what was there.
    ///
    /// - Returns: the keys of the pictures that had to go for it, in order.
    @discardableResult
    public func insert(_ image: LoadedImage) -> [CacheKey] { insert(image.decoded) }
}
