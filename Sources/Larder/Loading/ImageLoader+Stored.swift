import Foundation

extension ImageLoader {
    /// What a cache directory holds of one image, as its index knows it.
    public struct StoredFacts: Sendable, Hashable {
        /// What to ask for to have it from the cache again.
        public let url: URL
        /// nil where the format is none that this build knows.
        public let format: ImageFormat?
        /// Of the stored pixels, before orientation; nil where they are not known.
        public let width: Int?
        /// Of the stored pixels, before orientation; nil where it is not known.
        public let height: Int?
        /// Of the image's file, in bytes.
        public let bytes: Int
        /// When it was stored or last found to be still good.
        public let storedAt: Date
        /// Until when it may be used without asking the server.
        public let freshUntil: Date
        /// Where the entry lies below the cache directory.
        public let file: String
    }

    /// The images in the disk tier, the last used first: originals that anybody may see, neither thumbnails nor what
    /// was asked for with credentials. As the index knows them: up to a second behind.
    ///
    /// - Parameters:
    ///   - search: a part of the URL, or nil for all.
    ///   - offset: images to pass over. 0 by default.
    ///   - limit: images at most. 1,000 by default.
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where there is no disk tier or its index cannot be read.
    public func storedImages(
        matching search: String? = nil, offset: Int = 0, limit: Int = 1000
    ) async throws(ImageError) -> [StoredFacts] {
        guard let disk else { throw .cacheUnavailable(.init("the loader has no cache directory")) }
        return try await files.run { () throws(ImageError) in
            var query = EntryQuery()
            query.search = search
            query.variants = false
            query.includesPrivate = false
            query.offset = offset
            query.limit = max(0, limit)
            var images: [StoredFacts] = []
            try disk.list(query) { row in
                if let image = StoredFacts(row) { images.append(image) }
                return true
            }
            return images
        }
    }
}

extension ImageLoader.StoredFacts {
    /// nil where the key is no URL, and so the image cannot be asked for by it.
    fileprivate init?(_ row: IndexRow) {
        guard row.url.hasPrefix("http"), let url = URL(string: row.url) else { return nil }
        self.url = url
        format = row.format.flatMap(ImageFormat.init(rawValue:))
        (width, height) = (row.width, row.height)
        bytes = Int(row.length)
        storedAt = Date(timeIntervalSince1970: Double(row.storedAt.milliseconds) / 1000)
        freshUntil = Date(timeIntervalSince1970: Double(row.expires.milliseconds) / 1000)
        file = row.file
    }
}
