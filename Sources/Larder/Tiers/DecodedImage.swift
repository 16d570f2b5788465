/// A decoded picture as the memory tier keeps it: the pixels, and one shared record of the facts beside them.
package struct DecodedImage: Sendable {
    /// Upright.
    package let bitmap: Bitmap
    package let facts: Facts

    /// A class, so that a hit retains one object instead of copying every string of the key.
    package final class Facts: Sendable {
        package let key: CacheKey
        package let header: ImageHeader
        /// nil where the picture has no HTTP freshness of its own (a local file): never stale.
        package let freshness: StoredFreshness?

        package init(key: CacheKey, header: ImageHeader, freshness: StoredFreshness?) {
            self.key = key
            self.header = header
            self.freshness = freshness
        }
    }

    package init(bitmap: Bitmap, key: CacheKey, header: ImageHeader, freshness: StoredFreshness? = nil) {
        self.bitmap = bitmap
        facts = Facts(key: key, header: header, freshness: freshness)
    }

    init(bitmap: Bitmap, facts: Facts) {
        self.bitmap = bitmap
        self.facts = facts
    }
}
