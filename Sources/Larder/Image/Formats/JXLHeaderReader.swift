/// JPEG XL (ISO/IEC 18181-1, annex D): the size header of a bare codestream or of one in a container.
struct JXLHeaderReader: HeaderReader {
    private(set) var position = 0

    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        if position == 0, try bytes.u16(0) == 0xFF0A { return try codestream(bytes, at: 0) }
        while true {
            var box = try BoxHeader(bytes, position)
            switch box.type {
            case "jxlc": return try codestream(bytes, at: box.body)
            case "jxlp":
                box.body += 4
                return try codestream(bytes, at: box.body)
            default:
                guard let end = box.end else { throw .corrupt("JPEG XL: no codestream") }
                position = end
            }
        }
    }

    private func codestream(_ bytes: ByteWindow, at start: Int) throws(HeaderStop) -> ImageHeader {
        guard try bytes.u16(start) == 0xFF0A else { throw .corrupt("JPEG XL: a damaged codestream") }
        var bits = BitReader(bytes: bytes, offset: start + 2)
        let isSmall = try bits.read(1) == 1
        let height = isSmall ? (try bits.read(5) + 1) * 8 : try bits.size()
        let ratio = try bits.read(3)
        let width: Int =
            switch ratio {
            case 0: isSmall ? (try bits.read(5) + 1) * 8 : try bits.size()
            case 1: height
            case 2: height * 12 / 10
            case 3: height * 4 / 3
            case 4: height * 3 / 2
            case 5: height * 16 / 9
            case 6: height * 5 / 4
            default: height * 2
            }
        var header = ImageHeader(format: .jxl, width: width, height: height, undecodable: "JPEG XL")
        // ImageMetadata: not all default, and extra fields: their first is the orientation.
        if try bits.read(1) == 0, try bits.read(1) == 1, let value = Orientation(rawValue: UInt8(try bits.read(3) + 1))
        {
            header.orientation = value
            header.hasOrientation = true
        }
        return header
    }

    /// Least significant bit first.
    private struct BitReader {
        let bytes: ByteWindow
        var offset: Int
        var bit = 0

        init(bytes: ByteWindow, offset: Int) {
            self.bytes = bytes
            self.offset = offset
        }

        mutating func read(_ count: Int) throws(HeaderStop) -> Int {
            var value = 0
            for index in 0..<count {
                value |= (try bytes.u8(offset) >> bit & 1) << index
                bit += 1
                if bit == 8 {
                    bit = 0
                    offset += 1
                }
            }
            return value
        }

        mutating func size() throws(HeaderStop) -> Int { 1 + (try read([9, 13, 18, 30][try read(2)])) }
    }
}
