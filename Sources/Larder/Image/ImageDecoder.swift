import CImageCodecs

/// Decodes JPEG and PNG. Blocking and long: run it on an executor for blocking work.
public enum ImageDecoder {
    /// Decodes a whole image into RGBA, in the orientation in which it is stored.
    ///
    /// What the decode will cost is worked out from the header and refused before anything is allocated.
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - header: what ``HeaderParser`` found, or nil to have it found here.
    ///   - limits: what the image may cost.
    ///   - fitting: the least size needed, in stored pixels: a JPEG is then decoded at the smallest of libjpeg's scales
    ///     that is at least as large. nil for the full size.
    ///   - abort: ends the decode from another thread.
    /// - Throws: ``ImageError/truncated(_:)``, ``ImageError/corrupt(_:)``, ``ImageError/tooLarge(_:)``,
    ///   ``ImageError/unsupportedFormat(_:)``, ``ImageError/notAnImage(_:)``, ``ImageError/cancelled(_:)``.
    public static func decode(
        _ bytes: UnsafeRawBufferPointer, header: ImageHeader? = nil, limits: ImageLimits = ImageLimits(),
        fitting: (width: Int, height: Int)? = nil, abort: AbortFlag? = nil
    ) throws(ImageError) -> Bitmap {
        let header: ImageHeader = if let header { header } else { try self.header(of: bytes, limits: limits) }
        let codec = try open(bytes, header, limits: limits, abort: abort)
        try codec.start(
            larder_request(
                min_width: UInt32(clamping: fitting?.width ?? 0), min_height: UInt32(clamping: fitting?.height ?? 0),
                gray: false, whole: true, fast: false))
        let (width, height) = (codec.width, codec.height)
        return try Bitmap(
            width: width, height: height, hasAlpha: header.hasAlpha, icc: codec.icc(for: "RGB ")
        ) { (pixels, stride) throws(ImageError) in
            guard let base = pixels.baseAddress else { return }
            try codec.read(base, stride: stride, rows: height)
        }
    }

    /// The header of a whole file.
    public static func header(
        of bytes: UnsafeRawBufferPointer, limits: ImageLimits = ImageLimits()
    ) throws(ImageError) -> ImageHeader {
        var parser = HeaderParser(limits: limits)
        if case .header(let header) = try parser.feed(bytes) { return header }
        return try parser.finish()
    }

    /// Decodes every row and keeps none: tells whether the pixels are whole.
    static func verify(
        _ bytes: UnsafeRawBufferPointer, header: ImageHeader, limits: ImageLimits, abort: AbortFlag?
    ) throws(ImageError) {
        let codec = try open(bytes, header, limits: limits, abort: abort)
        try codec.start(larder_request(min_width: 0, min_height: 0, gray: true, whole: false, fast: true))
        try codec.readStrips { _, _, _ in }
    }

    static func open(
        _ bytes: UnsafeRawBufferPointer, _ header: ImageHeader, limits: ImageLimits, abort: AbortFlag?
    ) throws(ImageError) -> Codec {
        try limits.check(header)
        if let reason = header.undecodable {
            throw .unsupportedFormat(.init("\(reason) cannot be decoded by this build"))
        }
        switch header.format {
        case .jpeg: return try Codec(LARDER_JPEG, bytes, limits: limits, abort: abort)
        case .png: return try Codec(LARDER_PNG, bytes, limits: limits, abort: abort)
        default: throw .unsupportedFormat(.init("\(header.format.rawValue) cannot be decoded by this build"))
        }
    }
}
