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

extension Orientation {
    /// The orientation that does what this one does and then what `next` does.
    func then(_ next: Orientation) -> Orientation {
        let (first, second) = (parts, next.parts)
        // A mirror turns the sense of the quarters before it.
        let quarters = (second.mirrored ? 4 - first.quarters : first.quarters) + second.quarters
        return Self.make(mirrored: first.mirrored != second.mirrored, quarters: quarters % 4)
    }

    /// First mirrored left to right, then turned clockwise by quarters of 90°.
    private var parts: (mirrored: Bool, quarters: Int) {
        switch self {
        case .up: (false, 0)
        case .upMirrored: (true, 0)
        case .down: (false, 2)
        case .downMirrored: (true, 2)
        case .leftMirrored: (true, 3)
        case .right: (false, 1)
        case .rightMirrored: (true, 1)
        case .left: (false, 3)
        }
    }

    private static func make(mirrored: Bool, quarters: Int) -> Orientation {
        let turned: [Orientation] = [.up, .right, .down, .left]
        let mirroredTurned: [Orientation] = [.upMirrored, .rightMirrored, .downMirrored, .leftMirrored]
        return mirrored ? mirroredTurned[quarters] : turned[quarters]
    }
}
