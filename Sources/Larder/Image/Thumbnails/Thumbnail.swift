/// A thumbnail: upright, encoded and as pixels.
public struct Thumbnail: Sendable {
    /// The size that was asked for.
    public let size: ThumbnailSize
    /// Pixels.
    public let width: Int
    /// Pixels.
    public let height: Int
    /// What it is encoded as.
    public let format: ImageFormat
    /// The encoded file.
    public let bytes: [UInt8]
    /// The pixels that were encoded.
    public let bitmap: Bitmap
}

/// How thumbnails are encoded.
public struct ThumbnailOutput: Sendable, Hashable {
    /// JPEG or PNG; nil for JPEG, and PNG where any pixel is translucent. nil by default.
    public var format: ImageFormat?
    /// JPEG's quality, 1 to 100. 85 by default.
    public var quality: Int

    /// What is not given has its default.
    public init(format: ImageFormat? = nil, quality: Int = 85) {
        self.format = format
        self.quality = quality
    }
}
