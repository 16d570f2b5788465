/// WebP (RFC 9649): the first chunk tells the size; an extended file may have its EXIF block at the end.
struct WebPHeaderReader: HeaderReader {
    private(set) var position = 0
    private(set) var leastLength: Int?
    private var header: ImageHeader?
    private var end = 0
    private var wantsICC = false

    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        if position == 0 {
            let size = try bytes.little(4, 4)
            end = 8 + size
            leastLength = end
            guard let found = try first(bytes) else {
                position = 12
                throw .corrupt("WebP: an unknown first chunk")
            }
            header = found
            do throws(ImageError) { try limits.check(found) } catch { throw .failed(error) }
            position = 12 + 8 + Self.padded(try bytes.little(16, 4))
        }
        guard var header else { throw .corrupt("WebP: no picture") }
        // Only an extended file gets here with something left to find.
        while wantsICC || wantsExif {
            guard position + 8 <= end else { break }
            let name = try bytes.tag(position)
            let length = try bytes.little(position + 4, 4)
            switch name {
            case "ICCP":
                header.iccBytes = length
                wantsICC = false
            case "EXIF":
                let block = try bytes.slice(position + 8, length)
                let start = block.starts(with: Array("Exif\0\0".utf8)) ? 6 : 0
                let exif = Exif.orientation(UnsafeRawBufferPointer(rebasing: block[start...]))
                header.orientation = exif ?? .up
                header.hasOrientation = exif != nil
                wantsExif = false
            default: break
            }
            self.header = header
            position += 8 + Self.padded(length)
        }
        return header
    }

    private var wantsExif = false

    private mutating func first(_ bytes: ByteWindow) throws(HeaderStop) -> ImageHeader? {
        let length = try bytes.little(16, 4)
        switch try bytes.tag(12) {
        case "VP8 ":
            guard try bytes.u8(23) == 0x9D, try bytes.u8(24) == 0x01, try bytes.u8(25) == 0x2A, length >= 10 else {
                throw .corrupt("WebP: a damaged VP8 frame")
            }
            return Self.header(try bytes.little(26, 2) & 0x3FFF, try bytes.little(28, 2) & 0x3FFF, alpha: false)
        case "VP8L":
            guard try bytes.u8(20) == 0x2F, length >= 5 else { throw .corrupt("WebP: a damaged VP8L frame") }
            let bits = try bytes.little(21, 4)
            return Self.header((bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, alpha: bits >> 28 & 1 != 0)
        case "VP8X":
            guard length >= 10 else { throw .corrupt("WebP: a damaged VP8X chunk") }
            let flags = try bytes.u8(20)
            wantsICC = flags & 0x20 != 0
            wantsExif = flags & 0x08 != 0
            return Self.header(try bytes.little(24, 3) + 1, try bytes.little(27, 3) + 1, alpha: flags & 0x10 != 0)
        default: return nil
        }
    }

    private static func header(_ width: Int, _ height: Int, alpha: Bool) -> ImageHeader {
        ImageHeader(format: .webp, width: width, height: height, bitDepth: 8, hasAlpha: alpha, undecodable: "WebP")
    }

    private static func padded(_ length: Int) -> Int { length + length & 1 }

    static let checksWhole = true

    /// Counts the frames of an animation; the RIFF size has told already whether the file is whole.
    static func check(_ bytes: UnsafeRawBufferPointer, _ header: inout ImageHeader) throws(ImageError) {
        let window = ByteWindow(bytes)
        var offset = 12
        var frames = 0
        while let name = try? window.tag(offset), let length = try? window.little(offset + 4, 4) {
            if name == "ANMF" { frames += 1 }
            offset += 8 + padded(length)
        }
        header.frames = max(1, frames)
    }
}
