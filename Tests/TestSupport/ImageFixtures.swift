import Larder

/// Images made on the spot, each different in every corner so that turning and mirroring show.
public enum ImageFixtures {
    /// A gradient with a bright upper left corner.
    public static func bitmap(width: Int, height: Int, hasAlpha: Bool = false, seed: Int = 0) throws -> Bitmap {
        try Bitmap(width: width, height: height, hasAlpha: hasAlpha) { (pixels, stride) throws(ImageError) in
            for y in 0..<height {
                for x in 0..<width {
                    let place = y * stride + 4 * x
                    let isCorner = 4 * x < width && 4 * y < height
                    pixels[place] = isCorner ? 250 : UInt8(255 * x / width)
                    pixels[place + 1] = isCorner ? 250 : UInt8(255 * y / height)
                    pixels[place + 2] = UInt8((seed * 37 + 128 * x / width) & 0xFF)
                    pixels[place + 3] = hasAlpha ? UInt8(255 - 255 * x / width) : 255
                }
            }
        }
    }

    public static func jpeg(
        width: Int, height: Int, orientation: Orientation = .up, progressive: Bool = false, quality: Int = 85,
        seed: Int = 0
    ) throws -> [UInt8] {
        try ImageEncoder.jpeg(
            bitmap(width: width, height: height, seed: seed), quality: quality, progressive: progressive,
            orientation: orientation)
    }

    public static func png(width: Int, height: Int, hasAlpha: Bool = false, seed: Int = 0) throws -> [UInt8] {
        try ImageEncoder.png(bitmap(width: width, height: height, hasAlpha: hasAlpha, seed: seed))
    }

    /// The PNG with a chunk put in behind IHDR.
    public static func inserting(_ type: String, _ data: [UInt8], into png: [UInt8]) -> [UInt8] {
        var png = png
        png.insert(contentsOf: chunk(type, data), at: 33)
        return png
    }

    public static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + data
        return big(UInt32(data.count)) + body + big(crc(body))
    }

    private static func big(_ value: UInt32) -> [UInt8] { (0..<4).map { UInt8(value >> (24 - 8 * $0) & 0xFF) } }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        var value: UInt32 = .max
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }
        return ~value
    }
}

extension Bitmap {
    /// One pixel: red, green, blue, alpha.
    public func pixel(_ x: Int, _ y: Int) -> [UInt8] {
        withPixels { Array($0[y * stride + 4 * x..<y * stride + 4 * x + 4]) }
    }

    /// The pixels without gaps between rows.
    public var packed: [UInt8] {
        withPixels { pixels in (0..<height).flatMap { Array(pixels[$0 * stride..<$0 * stride + 4 * width]) } }
    }
}
