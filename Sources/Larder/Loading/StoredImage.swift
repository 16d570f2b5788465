/// An image brought onto disk and what is known of it: loading without decoding, and one row of a report.
package struct StoredImage: Sendable {
    package let header: ImageHeader
    /// Relative to the cache directory; nil where the image may not be stored or could not be.
    package let file: String?
    /// Whether it was to be stored and could not be: the directory has no room or cannot be written.
    package let isUnkept: Bool
    package let bytes: Int
    /// 32 bytes.
    package let sha256: [UInt8]
    package let source: LoadedImage.Source
    /// Of the answer that brought the image.
    package let status: Int
    package let isStale: Bool
    /// Requests that were sent for it; 0 where none was needed.
    package let attempts: Int
    package let thumbnails: [StoredThumbnail]
    /// Known where thumbnails were made, since nothing is decoded otherwise.
    package let placeholder: ImagePlaceholder?
    /// The image's bytes, read and checked. Blocks.
    package let payload: @Sendable () throws(ImageError) -> [UInt8]
}

/// One size of an image, or why it could not be made.
package struct StoredThumbnail: Sendable {
    package let size: ThumbnailSize
    package let outcome: Result<StoredVariant, ImageError>

    /// Whether the original could not be read.
    var isCorrupt: Bool {
        if case .failure(.corrupt) = outcome { true } else { false }
    }
}

/// A thumbnail that was made.
package struct StoredVariant: Sendable {
    package let width: Int
    package let height: Int
    package let format: ImageFormat
    package let bytes: Int
    /// Relative to the cache directory; nil where it could not be stored.
    package let file: String?
    /// The encoded thumbnail, read and checked. Blocks.
    package let payload: @Sendable () throws(ImageError) -> [UInt8]

    init?(_ entry: StoredEntry) {
        guard let header = entry.header else { return nil }
        width = header.width
        height = header.height
        format = header.format
        bytes = entry.payloadLength
        file = entry.isStored ? entry.file : nil
        payload = { () throws(ImageError) in try entry.payload() }
    }

    init(_ thumbnail: Thumbnail) {
        width = thumbnail.width
        height = thumbnail.height
        format = thumbnail.format
        bytes = thumbnail.bytes.count
        file = nil
        payload = { () throws(ImageError) in thumbnail.bytes }
    }
}
