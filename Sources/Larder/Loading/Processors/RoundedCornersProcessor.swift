/// Makes the corners of a picture round, and what lies outside of them transparent.
public struct RoundedCornersProcessor: ImageProcessing, Hashable {
    /// In pixels; nil for half of the shorter side, which makes a circle of a square.
    public let radius: Double?

    /// - Parameter radius: in pixels of the picture at this step, held to half of its shorter side; nil, the default,
    ///   for exactly that.
    public init(radius: Double? = nil) { self.radius = radius.map { $0.isFinite ? max(0, $0) : 0 } }

    /// `larder.rounded?` and the radius.
    public var identifier: String { "larder.rounded?\(radius.map { "\($0)" } ?? "circle")" }

    /// As ``ImageProcessing/process(_:)``.
    public func process(_ bitmap: Bitmap) throws(ImageError) -> Bitmap {
        let half = Double(min(bitmap.width, bitmap.height)) / 2
        let radius = min(radius ?? half, half)
        guard radius > 0 else { return bitmap }
        return try Bitmap(width: bitmap.width, height: bitmap.height, hasAlpha: true, icc: bitmap.icc) {
            (target, stride) throws(ImageError) in
            bitmap.withPixels { source in
                for y in 0..<bitmap.height {
                    let (from, to) = (y * bitmap.stride, y * stride)
                    UnsafeMutableRawBufferPointer(rebasing: target[to..<to + 4 * bitmap.width])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[from..<from + 4 * bitmap.width]))
                }
            }
            let corner = Int(radius.rounded(.up))
            for y in 0..<corner {
                for x in 0..<corner {
                    // How much of the pixel lies inside, as far as its middle tells.
                    let (across, down) = (radius - Double(x) - 0.5, radius - Double(y) - 0.5)
                    let inside = radius + 0.5 - (across * across + down * down).squareRoot()
                    guard across > 0, down > 0, inside < 1 else { continue }
                    let share = max(0, inside)
                    for (column, row) in [
                        (x, y), (bitmap.width - 1 - x, y), (x, bitmap.height - 1 - y),
                        (bitmap.width - 1 - x, bitmap.height - 1 - y),
                    ] {
                        let alpha = row * stride + 4 * column + 3
                        target[alpha] = UInt8((Double(target[alpha]) * share).rounded())
                    }
                }
            }
        }
    }
}

extension ImageProcessing where Self == RoundedCornersProcessor {
    /// Makes the corners round: by a radius in pixels, or as far as they go.
    public static func roundedCorners(radius: Double? = nil) -> RoundedCornersProcessor {
        RoundedCornersProcessor(radius: radius)
    }
}
