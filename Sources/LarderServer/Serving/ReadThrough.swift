import Larder

/// How an image that the directory lacks, or has only stale, comes into it.
package protocol ReadThrough: Sendable {
    /// The image of that URL, as fresh as the rules of HTTP want it, committed before this returns. One fetch for all
    /// who ask at once; a stale entry where the rules allow one (RFC 5861).
    func fetch(_ url: NormalizedURL) async throws(Problem) -> FetchedImage
}

/// What a fetch brought.
package enum FetchedImage: Sendable {
    case entry(StoredEntry)
    /// What may not be stored (`no-store`): for those who asked, and nobody later.
    case memory([UInt8], EntryMetadata)
}
