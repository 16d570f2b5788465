/// A decoded picture as the memory tier keeps it. One object stands for the whole, so that a hit retains one and no
/// strings or pixels are touched.
package final class DecodedImage: Sendable {
    /// Upright.
    package let bitmap: Bitmap
    package let facts: Facts

    /// What is known of a picture beside its pixels.
    package final class Facts: Sendable {
        package let key: CacheKey
        package let header: ImageHeader
        /// nil where the picture has no HTTP freshness of its own (a local file): never stale.
        package let freshness: StoredFreshness?
        /// SHA-256 of the original's bytes; empty where it is not known.
        package let sha256: [UInt8]
        /// Of the request that it answered, where the answer was chosen by them (RFC 9111 §4.1); empty otherwise.
        package let fields: HTTPFields

        init(
            key: CacheKey, header: ImageHeader, freshness: StoredFreshness?, sha256: [UInt8],
            fields: HTTPFields = .init()
        ) {
            self.key = key
            self.header = header
            self.freshness = freshness
            self.sha256 = sha256
            self.fields = freshness?.hasVary == true ? fields : .init()
        }
    }

    package convenience init(
        bitmap: Bitmap, key: CacheKey, header: ImageHeader, freshness: StoredFreshness? = nil, sha256: [UInt8] = [],
        fields: HTTPFields = .init()
    ) {
        self.init(
            bitmap: bitmap,
            facts: Facts(key: key, header: header, freshness: freshness, sha256: sha256, fields: fields))
    }

    init(bitmap: Bitmap, facts: Facts) {
        self.bitmap = bitmap
        self.facts = facts
    }
}
