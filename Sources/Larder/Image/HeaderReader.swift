/// Reads one format's header from a stream. A value: it keeps what it has learnt and goes on from ``position``.
protocol HeaderReader: Sendable {
    init()
    /// Bytes before this offset are not needed any more. It may be ahead of what has come: those bytes are skipped.
    var position: Int { get }
    /// How long the file must be at least to be whole, where the header tells.
    var leastLength: Int? { get }
    /// Reads on. Called again, from the same state, once the missing bytes are there; what lies before ``position``
    /// is gone by then.
    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader
    /// Whether ``check(_:_:)`` does anything, so that the whole file is worth reading.
    static var checksWhole: Bool { get }
    /// For a format without a codec: whether a whole file holds together, and what only the whole file tells.
    static func check(_ bytes: UnsafeRawBufferPointer, _ header: inout ImageHeader) throws(ImageError)
}

extension HeaderReader {
    var leastLength: Int? { nil }
    static var checksWhole: Bool { false }
    static func check(_ bytes: UnsafeRawBufferPointer, _ header: inout ImageHeader) throws(ImageError) {}
}

extension ImageFormat {
    var reader: any HeaderReader.Type {
        switch self {
        case .jpeg: JPEGHeaderReader.self
        case .png: PNGHeaderReader.self
        case .gif: GIFHeaderReader.self
        case .webp: WebPHeaderReader.self
        case .avif: AVIFHeaderReader.self
        case .heic: HEICHeaderReader.self
        case .jxl: JXLHeaderReader.self
        case .bmp: BMPHeaderReader.self
        case .tiff: TIFFHeaderReader.self
        case .ico: ICOHeaderReader.self
        case .svg: SVGHeaderReader.self
        }
    }
}

extension ImageLimits {
    /// Refuses a size that no image has, or that is over the limit.
    func check(width: Int, height: Int) throws(ImageError) {
        guard width > 0, height > 0 else { throw .corrupt(.init("the image is \(width)x\(height) pixels")) }
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        guard !overflow, pixels <= maxPixels else {
            throw .tooLarge(.init("the image is \(width)x\(height) pixels, more than the limit of \(maxPixels)"))
        }
    }

    func check(_ header: ImageHeader) throws(ImageError) {
        if header.format != .svg || header.width != 0 || header.height != 0 {
            try check(width: header.width, height: header.height)
        }
        guard header.frames <= maxFrames else {
            throw .tooLarge(.init("the animation has \(header.frames) frames, more than the limit of \(maxFrames)"))
        }
        guard header.iccBytes <= maxMetadataBytes else {
            throw .tooLarge(.init("the colour profile has \(header.iccBytes) bytes"))
        }
    }
}
