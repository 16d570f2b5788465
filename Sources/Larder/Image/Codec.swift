import CImageCodecs

/// One decode by libjpeg or libpng: open, start, read rows. Not Sendable: used where it is made.
final class Codec {
    private let decoder: UnsafeMutablePointer<larder_decoder>
    private let name: String

    /// - Parameter bytes: must outlive the codec.
    init(
        _ codec: larder_codec, _ bytes: UnsafeRawBufferPointer, limits: ImageLimits, abort: AbortFlag?
    ) throws(ImageError) {
        name = codec == LARDER_JPEG ? "JPEG" : "PNG"
        var bounds = larder_limits(
            max_pixels: UInt64(clamping: limits.maxPixels), max_bytes: UInt64(clamping: limits.maxDecodeBytes),
            max_metadata: UInt64(clamping: limits.maxMetadataBytes), max_scans: UInt32(clamping: limits.maxScans),
            abort: abort.map { UnsafePointer($0.raw) })
        var opened: UnsafeMutablePointer<larder_decoder>?
        let start = bytes.bindMemory(to: UInt8.self)
        let status = larder_decoder_open(codec, start.baseAddress, bytes.count, &bounds, &opened)
        guard let opened else { throw .tooLarge(.init("not enough memory")) }
        guard status == LARDER_OK else {
            defer { larder_decoder_close(opened) }
            throw Self.error(status, name, opened)
        }
        decoder = opened
        // The C side keeps the flag's address.
        flag = abort
    }

    private let flag: AbortFlag?

    deinit { larder_decoder_close(decoder) }

    /// For a file that is still growing: takes what there is for the picture. Before `start`.
    func allowPartial() { decoder.pointee.partial = true }
    /// The passes of an interlaced PNG that were read to their end.
    var passes: Int { Int(decoder.pointee.passes) }

    var facts: larder_facts { decoder.pointee.facts }
    var width: Int { Int(decoder.pointee.out_width) }
    var height: Int { Int(decoder.pointee.out_height) }
    var channels: Int { Int(decoder.pointee.channels) }
    /// The stored picture's size in pixels of the scaled one: the last ones may be covered only in part.
    var extent: (width: Double, height: Double) {
        let scale = Double(decoder.pointee.eighths) / 8
        return (Double(facts.width) * scale, Double(facts.height) * scale)
    }
    /// Whether all rows must be read by one call (interlaced).
    var isOnlyWhole: Bool { decoder.pointee.only_whole }
    /// Bytes that the decode holds. Valid after `start`.
    var need: Int { Int(clamping: decoder.pointee.need) }

    /// What a picture may take along of a profile: every thumbnail has a copy.
    private static let maxProfileBytes = 1 << 20

    /// The profile, where its colour space is `space` (`RGB ` or `GRAY`, ICC.1, section 7.2.6) and it is no larger than
    /// 1 MiB; else empty.
    func icc(for space: String) -> [UInt8] {
        guard let start = facts.icc, 128...Self.maxProfileBytes ~= facts.icc_length else { return [] }
        let profile = UnsafeBufferPointer(start: start, count: facts.icc_length)
        return profile[16..<20].elementsEqual(space.utf8) ? Array(profile) : []
    }

    func start(_ request: larder_request) throws(ImageError) {
        var request = request
        try check(larder_decoder_start(decoder, &request))
    }

    func read(_ pixels: UnsafeMutableRawPointer, stride: Int, rows: Int) throws(ImageError) {
        try check(
            larder_decoder_read(decoder, pixels.assumingMemoryBound(to: UInt8.self), stride, UInt32(clamping: rows)))
    }

    /// What rows that are read together take, but for one that is longer.
    private static let stripBytes = 1 << 20

    /// Reads all rows, a few at a time; an interlaced picture at once.
    func readStrips(_ body: (_ pixels: UnsafePointer<UInt8>, _ stride: Int, _ rows: Int) -> Void) throws(ImageError) {
        // libjpeg writes what is aligned to its vectors past the caches, from which it is to be read again at once: no
        // row is. Nor do rows lie a power of two apart, of which a cache would keep few. All rows of a picture are as
        // many bytes as it has been checked for.
        let stride = isOnlyWhole ? width * channels : (width * channels + 63) & ~63 | 64
        let rows = isOnlyWhole ? height : min(height, max(1, min(16, Self.stripBytes / stride)))
        let memory = UnsafeMutableRawPointer.allocate(byteCount: stride * rows + 16, alignment: 64)
        defer { memory.deallocate() }
        let strip = (memory + 16).bindMemory(to: UInt8.self, capacity: stride * rows)
        var done = 0
        while done < height {
            let ready = min(rows, height - done)
            try read(strip, stride: stride, rows: ready)
            body(strip, stride, ready)
            done += ready
        }
    }

    private func check(_ status: larder_status) throws(ImageError) {
        if status != LARDER_OK { throw Self.error(status, name, decoder) }
    }

    private static func error(
        _ status: larder_status, _ name: String, _ decoder: UnsafeMutablePointer<larder_decoder>
    ) -> ImageError {
        let message = withUnsafeBytes(of: &decoder.pointee.message) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        let details = ImageError.Details(message.isEmpty ? name : "\(name): \(message)")
        return switch status {
        case LARDER_TRUNCATED: .truncated(details)
        case LARDER_UNSUPPORTED: .unsupportedFormat(details)
        case LARDER_TOO_LARGE: .tooLarge(details)
        case LARDER_ABORTED: .cancelled(.init("the decode was aborted"))
        default: .corrupt(details)
        }
    }
}

extension larder_color {
    var color: ImageHeader.Color {
        switch self {
        case LARDER_GRAY: .gray
        case LARDER_GRAY_ALPHA: .grayAlpha
        case LARDER_RGB: .rgb
        case LARDER_RGBA: .rgba
        case LARDER_INDEXED: .indexed
        case LARDER_CMYK: .cmyk
        case LARDER_YCCK: .ycck
        default: .ycbcr
        }
    }
}
