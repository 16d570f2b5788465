/// Brings a picture to a size, as a thumbnail of that size would be.
///
/// Where a size is all you want, ``ImageRequest/thumbnail`` is cheaper: it is decoded small and kept on disk.
public struct ResizeProcessor: ImageProcessing, Hashable {
    /// In pixels.
    public let size: ThumbnailSize

    /// Brings pictures to a size in pixels.
    public init(_ size: ThumbnailSize) { self.size = size }

    /// `larder.resize?` and the size.
    public var identifier: String { "larder.resize?\(size)\(size.crop ? ";crop" : "")" }

    /// As ``ImageProcessing/process(_:)``.
    public func process(_ bitmap: Bitmap) throws(ImageError) -> Bitmap { try bitmap.resized(to: size) }
}

extension ImageProcessing where Self == ResizeProcessor {
    /// Brings the picture to a size in pixels.
    public static func resize(_ size: ThumbnailSize) -> ResizeProcessor { ResizeProcessor(size) }
}
