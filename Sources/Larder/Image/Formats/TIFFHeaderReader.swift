/// TIFF 6.0 and BigTIFF: the first directory, wherever it is in the file.
struct TIFFHeaderReader: HeaderReader {
    private(set) var position = 0
    private var bigEndian = false
    private var isBig = false
    private var hasStart = false

    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        if !hasStart {
            bigEndian = try bytes.u16(0) == 0x4D4D
            isBig = try bytes.u16(2, bigEndian: bigEndian) == 43
            let directory =
                isBig ? try bytes.u64(8, bigEndian: bigEndian) : try bytes.u32(4, bigEndian: bigEndian)
            guard directory >= 8, directory < 1 << 50 else {
                throw .corrupt("TIFF: the directory is outside of the file")
            }
            position = directory
            hasStart = true
        }
        let count =
            isBig ? try bytes.u64(position, bigEndian: bigEndian) : try bytes.u16(position, bigEndian: bigEndian)
        guard count < 1 << 16 else { throw .corrupt("TIFF: a directory of \(count) entries") }
        let first = position + (isBig ? 8 : 2)
        let step = isBig ? 20 : 12
        _ = try bytes.slice(first, count * step)
        var header = ImageHeader(format: .tiff, width: 0, height: 0, undecodable: "TIFF")
        for index in 0..<count {
            let entry = first + index * step
            guard let value = try value(entry, bytes) else { continue }
            switch try bytes.u16(entry, bigEndian: bigEndian) {
            case 256: header.width = value
            case 257: header.height = value
            case 258: header.bitDepth = value
            case 274:
                if let orientation = UInt8(exactly: value).flatMap({ Orientation(rawValue: $0) }) {
                    header.orientation = orientation
                    header.hasOrientation = true
                }
            case 262:
                header.color = [0: .gray, 1: .gray, 2: .rgb, 3: .indexed, 5: .cmyk, 6: .ycbcr][value]
            default: break
            }
        }
        return header
    }

    /// An entry's value where it stands in the entry itself: SHORT, LONG or LONG8.
    private func value(_ entry: Int, _ bytes: ByteWindow) throws(HeaderStop) -> Int? {
        let place = entry + (isBig ? 12 : 8)
        let count =
            isBig ? try bytes.u64(entry + 4, bigEndian: bigEndian) : try bytes.u32(entry + 4, bigEndian: bigEndian)
        switch try bytes.u16(entry + 2, bigEndian: bigEndian) {
        case 3: return count <= (isBig ? 4 : 2) ? try bytes.u16(place, bigEndian: bigEndian) : nil
        case 4: return count <= (isBig ? 2 : 1) ? try bytes.u32(place, bigEndian: bigEndian) : nil
        case 16: return isBig && count == 1 ? try bytes.u64(place, bigEndian: bigEndian) : nil
        default: return nil
        }
    }
}
