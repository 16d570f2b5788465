/// How the stored pixels must be turned to stand upright: the EXIF values (TIFF 6.0 tag 0x0112).
public enum Orientation: UInt8, Sendable, Hashable, Codable, CaseIterable {
    /// As stored.
    case up = 1
    /// Mirrored left to right.
    case upMirrored = 2
    /// Turned by 180°.
    case down = 3
    /// Mirrored top to bottom.
    case downMirrored = 4
    /// Mirrored along the main diagonal (transposed).
    case leftMirrored = 5
    /// To be turned by 90° clockwise.
    case right = 6
    /// Mirrored along the other diagonal.
    case rightMirrored = 7
    /// To be turned by 90° counter-clockwise.
    case left = 8

    /// Whether width and height change places when the image is set upright.
    public var swapsAxes: Bool { rawValue >= 5 }
}
