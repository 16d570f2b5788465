/// What an image says of itself before its pixels.
public struct ImageHeader: Sendable, Hashable {
    /// How the file keeps colours.
    public enum Color: String, Sendable, Hashable, Codable {
        /// One channel.
        case gray
        /// Two channels.
        case grayAlpha = "gray_alpha"
        /// As the format names it.
        case rgb, rgba, indexed, ycbcr, cmyk, ycck
    }

    /// By the bytes, whatever the server said.
    public var format: ImageFormat
    /// Pixels as stored, before orientation. 0 only for formats without a size of their own (SVG).
    public var width: Int
    /// Of the stored pixels, before orientation.
    public var height: Int
    /// `.up` where absent or out of range.
    public var orientation: Orientation
    /// Whether an orientation was stated in the file.
    public var hasOrientation: Bool
    /// nil where the format's reader does not tell.
    public var color: Color?
    /// Bits per channel; nil where the format's reader does not tell.
    public var bitDepth: Int?
    /// Whether pixels may be other than opaque.
    public var hasAlpha: Bool
    /// Progressive JPEG, interlaced PNG or GIF.
    public var isProgressive: Bool
    /// 1 for a still picture; the declared number of frames of an animation where the header tells.
    public var frames: Int
    /// Bytes of the ICC profile; 0 where there is none.
    public var iccBytes: Int
    /// PNG's gAMA × 100,000, reported and not applied; nil where absent.
    public var gamma: Int?
    /// Why this build cannot decode the pixels (`12-bit JPEG`, `lossless JPEG`, `CgBI PNG`, a format without a
    /// codec), or nil where it can.
    public var undecodable: String?

    /// Width and height when set upright.
    public var displayWidth: Int { orientation.swapsAxes ? height : width }
    /// Height when set upright.
    public var displayHeight: Int { orientation.swapsAxes ? width : height }

    /// A header from its parts, for previews, tests and decoders of your own.
    public init(
        format: ImageFormat, width: Int, height: Int, orientation: Orientation = .up, hasOrientation: Bool = false,
        color: Color? = nil, bitDepth: Int? = nil, hasAlpha: Bool = false, isProgressive: Bool = false,
        frames: Int = 1, iccBytes: Int = 0, gamma: Int? = nil, undecodable: String? = nil
    ) {
        self.format = format
        self.width = width
        self.height = height
        self.orientation = orientation
        self.hasOrientation = hasOrientation
        self.color = color
        self.bitDepth = bitDepth
        self.hasAlpha = hasAlpha
        self.isProgressive = isProgressive
        self.frames = frames
        self.iccBytes = iccBytes
        self.gamma = gamma
        self.undecodable = undecodable
    }
}
