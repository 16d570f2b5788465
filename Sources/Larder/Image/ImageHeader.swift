/// What an image says of itself before its pixels.
public struct ImageHeader: Sendable, Hashable {
    public enum Color: String, Sendable, Hashable, Codable {
        case gray
        case grayAlpha = "gray_alpha"
        case rgb, rgba, indexed, ycbcr, cmyk, ycck
    }

    public var format: ImageFormat
    /// Pixels as stored, before orientation. 0 only for formats without a size of their own (SVG).
    public var width: Int
    public var height: Int
    /// `.up` where absent or out of range.
    public var orientation: Orientation
    /// Whether an orientation was stated in the file.
    public var hasOrientation: Bool
    /// nil where the format's reader does not tell.
    public var color: Color?
    /// Bits per channel; nil where the format's reader does not tell.
    public var bitDepth: Int?
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
    public var displayHeight: Int { orientation.swapsAxes ? width : height }

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
