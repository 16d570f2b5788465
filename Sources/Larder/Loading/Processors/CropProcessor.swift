/// Cuts out a part of a picture.
public struct CropProcessor: ImageProcessing, Hashable {
    private enum Area: Hashable {
        case box(x: Int, y: Int, width: Int, height: Int)
        case ratio(Double)
    }

    private let area: Area

    /// The part with this upper left corner and size, in pixels of the picture at this step. What of it lies outside is
    /// left out; at least one pixel remains.
    public init(x: Int, y: Int, width: Int, height: Int) {
        area = .box(x: x, y: y, width: width, height: height)
    }

    /// The largest part around the middle whose width is `aspectRatio` times its height. A ratio that is not above 0
    /// leaves the picture as it is.
    public init(aspectRatio: Double) { area = .ratio(aspectRatio) }

    /// `larder.crop?` and the box or the proportions.
    public var identifier: String {
        switch area {
        case .box(let x, let y, let width, let height): "larder.crop?\(x),\(y),\(width)x\(height)"
        case .ratio(let ratio): "larder.crop?ratio=\(ratio)"
        }
    }

    /// As ``ImageProcessing/process(_:)``.
    public func process(_ bitmap: Bitmap) throws(ImageError) -> Bitmap {
        switch area {
        case .box(let x, let y, let width, let height):
            return try bitmap.cropped(x: x, y: y, width: width, height: height)
        case .ratio(let ratio):
            guard ratio > 0, ratio.isFinite else { return bitmap }
            let width = Int(min(Double(bitmap.width), (Double(bitmap.height) * ratio).rounded()))
            let height = Int(min(Double(bitmap.height), (Double(bitmap.width) / ratio).rounded()))
            return try bitmap.cropped(
                x: (bitmap.width - width) / 2, y: (bitmap.height - height) / 2, width: width, height: height)
        }
    }
}

extension ImageProcessing where Self == CropProcessor {
    /// Cuts out a box, in pixels of the picture at this step.
    public static func crop(x: Int, y: Int, width: Int, height: Int) -> CropProcessor {
        CropProcessor(x: x, y: y, width: width, height: height)
    }

    /// Cuts out the middle in these proportions: 1 for a square.
    public static func crop(aspectRatio: Double) -> CropProcessor { CropProcessor(aspectRatio: aspectRatio) }
}
