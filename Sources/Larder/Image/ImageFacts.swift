/// What a file is, and whether it is whole: the answer of ``ImageInspector``.
public struct ImageFacts: Sendable, Hashable {
    /// nil where the bytes are no image of a known format.
    public var format: ImageFormat?
    /// nil where no header could be read.
    public var header: ImageHeader?
    /// Bytes of the file.
    public var bytes: Int
    /// Why the file is no whole image; nil where nothing wrong was found.
    public var error: ImageError?

    /// Whether it is a whole image, as far as was looked.
    public var isValid: Bool { error == nil }
    /// The EXIF value, 1 to 8, or nil where the file states none.
    public var orientation: Int? { header.flatMap { $0.hasOrientation ? Int($0.orientation.rawValue) : nil } }
}
