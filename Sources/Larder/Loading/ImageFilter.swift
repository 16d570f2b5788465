/// What an image's header must satisfy to be loaded; judged before the body is complete.
///
/// Sizes are those of the upright picture, in pixels. nil and empty mean no demand.
public struct ImageFilter: Sendable, Hashable {
    /// Pixels of the upright picture.
    public var minWidth: Int?
    /// Pixels of the upright picture.
    public var minHeight: Int?
    /// The longer side over the shorter one.
    public var maxAspectRatio: Double?
    /// Empty for every format.
    public var formats: Set<ImageFormat>

    /// What is not given is not demanded.
    public init(
        minWidth: Int? = nil, minHeight: Int? = nil, maxAspectRatio: Double? = nil, formats: Set<ImageFormat> = []
    ) {
        self.minWidth = minWidth
        self.minHeight = minHeight
        self.maxAspectRatio = maxAspectRatio
        self.formats = formats
    }

    /// Throws ``ImageError/refused(_:_:)`` with `.filter` where the header does not satisfy.
    package func check(_ header: ImageHeader) throws(ImageError) {
        func refuse(_ why: String) -> ImageError { .refused(.filter, .init(why)) }
        let (width, height) = (header.displayWidth, header.displayHeight)
        if !formats.isEmpty, !formats.contains(header.format) {
            throw refuse("the format \(header.format.rawValue) was not asked for")
        }
        if let minWidth, width < minWidth { throw refuse("the width \(width) is below \(minWidth)") }
        if let minHeight, height < minHeight { throw refuse("the height \(height) is below \(minHeight)") }
        if let maxAspectRatio, width > 0, height > 0 {
            let ratio = Double(max(width, height)) / Double(min(width, height))
            if ratio > maxAspectRatio { throw refuse("the aspect ratio \(ratio) is above \(maxAspectRatio)") }
        }
    }
}
