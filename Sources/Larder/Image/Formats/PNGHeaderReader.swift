import CImageCodecs

/// PNG (third edition, section 5): walks the chunks up to the first IDAT and gives those that matter to libpng.
///
/// An `eXIf` behind the pixels is not seen, as in browsers: the answer does not wait for the end of the file.
struct PNGHeaderReader: HeaderReader {
    private(set) var position = 0
    /// The end of the first IDAT.
    private(set) var leastLength: Int?
    private var kept: [UInt8] = []
    private var frames = 1
    private var isCgBI = false
    private var hasIHDR = false

    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        if position == 0 {
            kept = Array(try bytes.slice(0, 8))
            position = 8
        }
        while true {
            guard position <= limits.maxMetadataBytes, kept.count <= limits.maxMetadataBytes else {
                throw .failed(.tooLarge(.init("no picture within \(limits.maxMetadataBytes) bytes")))
            }
            let length = try bytes.u32(position)
            let type = try bytes.slice(position + 4, 4)
            guard type.allSatisfy({ 0x41...0x5A ~= $0 || 0x61...0x7A ~= $0 }), length <= 0x7FFF_FFFF else {
                throw .corrupt("PNG: a damaged chunk at byte \(position)")
            }
            let name = String(decoding: type, as: UTF8.self)
            guard hasIHDR || name == "IHDR" || (name == "CgBI" && position == 8) else {
                throw .corrupt("PNG: \(name) comes before IHDR")
            }
            switch name {
            case "IDAT":
                kept.append(contentsOf: try bytes.slice(position, 8))
                leastLength = position + 12 + length
                return try header(limits)
            case "IEND": throw .corrupt("PNG: no picture")
            case "CgBI" where !hasIHDR: isCgBI = true
            case "IHDR": try takeIHDR(length, bytes, limits)
            case "acTL":
                if length == 8 { frames = max(1, try bytes.u32(position + 8)) }
            case "tRNS", "gAMA", "iCCP", "sRGB", "cHRM", "eXIf", "sBIT": try keep(length, bytes)
            default:
                // An unknown critical chunk is libpng's to refuse.
                if type[0] & 0x20 == 0 { try keep(length, bytes) }
            }
            position += 12 + length
        }
    }

    private mutating func keep(_ length: Int, _ bytes: ByteWindow) throws(HeaderStop) {
        kept.append(contentsOf: try bytes.slice(position, 12 + length))
    }

    private mutating func takeIHDR(_ length: Int, _ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) {
        guard length == 13 else { throw .corrupt("PNG: IHDR has \(length) bytes") }
        try keep(length, bytes)
        hasIHDR = true
        let width = try bytes.u32(position + 8)
        let height = try bytes.u32(position + 12)
        do throws(ImageError) { try limits.check(width: width, height: height) } catch { throw .failed(error) }
    }

    private func header(_ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        let outcome: Result<ImageHeader, ImageError> = kept.withUnsafeBytes { bytes in
            do throws(ImageError) {
                let codec = try Codec(LARDER_PNG, bytes, limits: limits, abort: nil)
                let facts = codec.facts
                let exif = Exif.orientation(UnsafeRawBufferPointer(start: facts.exif, count: facts.exif_length))
                return .success(
                    ImageHeader(
                        format: .png, width: Int(facts.width), height: Int(facts.height), orientation: exif ?? .up,
                        hasOrientation: exif != nil, color: facts.color.color, bitDepth: Int(facts.bit_depth),
                        hasAlpha: facts.has_alpha, isProgressive: facts.progressive, frames: frames,
                        iccBytes: facts.icc_length, gamma: facts.gamma == 0 ? nil : Int(facts.gamma),
                        undecodable: isCgBI ? "CgBI PNG" : nil))
            } catch {
                return .failure(error)
            }
        }
        do throws(ImageError) { return try outcome.get() } catch { throw .failed(error) }
    }
}
