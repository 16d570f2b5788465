import CImageCodecs

/// Encodes bitmaps as JPEG or PNG. Blocking.
public enum ImageEncoder {
    /// - Parameters:
    ///   - bitmap: the picture.
    ///   - quality: 1 to 100. Below 90 colour is stored at half the resolution (4:2:0).
    ///   - progressive: stored so that it can be shown while it arrives.
    ///   - orientation: stated in EXIF where it is not ``Orientation/up``; the pixels stay as they are.
    /// - Returns: a JPEG file. Translucent pixels are laid on white; the ICC profile is carried over.
    /// - Throws: ``ImageError/tooLarge(_:)`` where a side is over 65,500 pixels or memory is short.
    public static func jpeg(
        _ bitmap: Bitmap, quality: Int = 85, progressive: Bool = false, orientation: Orientation = .up
    ) throws(ImageError) -> [UInt8] {
        let raster = Raster(bitmap)
        if bitmap.hasAlpha { raster.layOnWhite() }
        var bytes = try jpeg(raster, quality: quality, progressive: progressive, icc: bitmap.icc)
        // Behind SOI and the JFIF segment, which libjpeg writes first.
        if orientation != .up { bytes.insert(contentsOf: Exif.segment(orientation), at: 20) }
        return bytes
    }

    /// - Returns: a PNG file, RGBA where the bitmap has alpha, else RGB; the ICC profile is carried over.
    /// - Throws: ``ImageError/tooLarge(_:)`` where memory is short.
    public static func png(_ bitmap: Bitmap) throws(ImageError) -> [UInt8] {
        try png(Raster(bitmap), hasAlpha: bitmap.hasAlpha, icc: bitmap.icc)
    }

    static func encode(
        _ raster: Raster, format: ImageFormat, quality: Int, hasAlpha: Bool, icc: [UInt8]
    ) throws(ImageError) -> [UInt8] {
        if format == .png { return try png(raster, hasAlpha: hasAlpha, icc: icc) }
        guard hasAlpha else { return try jpeg(raster, quality: quality, progressive: false, icc: icc) }
        let flat = raster.copy()
        flat.layOnWhite()
        return try jpeg(flat, quality: quality, progressive: false, icc: icc)
    }

    private static func jpeg(
        _ raster: Raster, quality: Int, progressive: Bool, icc: [UInt8]
    ) throws(ImageError) -> [UInt8] {
        try collect(raster, icc) { picture, out, length in
            larder_jpeg_encode(picture, Int32(max(1, min(100, quality))), progressive, out, length)
        }
    }

    private static func png(_ raster: Raster, hasAlpha: Bool, icc: [UInt8]) throws(ImageError) -> [UInt8] {
        try collect(raster, icc) { picture, out, length in larder_png_encode(picture, hasAlpha, out, length) }
    }

    private typealias Encode = (
        UnsafePointer<larder_picture>, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, UnsafeMutablePointer<Int>
    ) -> larder_status

    private static func collect(_ raster: Raster, _ icc: [UInt8], _ encode: Encode) throws(ImageError) -> [UInt8] {
        var out: UnsafeMutablePointer<UInt8>?
        var length = 0
        let status = icc.withUnsafeBufferPointer { profile in
            var picture = larder_picture(
                pixels: raster.pixels, width: UInt32(raster.width), height: UInt32(raster.height),
                channels: UInt32(raster.channels), stride: raster.stride, icc: profile.baseAddress,
                icc_length: profile.count)
            return encode(&picture, &out, &length)
        }
        defer { larder_free(out) }
        guard status == LARDER_OK, let out else {
            throw .tooLarge(.init("\(raster.width)x\(raster.height) pixels cannot be encoded"))
        }
        return Array(UnsafeBufferPointer(start: out, count: length))
    }
}

extension Raster {
    convenience init(_ bitmap: Bitmap) {
        self.init(width: bitmap.width, height: bitmap.height, channels: 4)
        bitmap.withPixels { source in
            guard let base = source.baseAddress else { return }
            for row in 0..<height {
                UnsafeMutableRawPointer(pixels + row * stride).copyMemory(
                    from: base + row * bitmap.stride, byteCount: stride)
            }
        }
    }

    func copy() -> Raster {
        let copy = Raster(width: width, height: height, channels: channels)
        UnsafeMutableRawPointer(copy.pixels).copyMemory(from: pixels, byteCount: stride * height)
        return copy
    }

    func layOnWhite() {
        guard channels == 4 else { return }
        for index in 0..<width * height {
            let pixel = pixels + 4 * index
            let alpha = Int(pixel[3])
            for channel in 0..<3 {
                pixel[channel] = UInt8((Int(pixel[channel]) * alpha + 255 * (255 - alpha) + 127) / 255)
            }
            pixel[3] = 255
        }
    }
}
