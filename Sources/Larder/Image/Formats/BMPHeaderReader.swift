/// BMP: file header and DIB header.
struct BMPHeaderReader: HeaderReader {
    private(set) var position = 0
    private(set) var leastLength: Int?

    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        let pixels = try bytes.little(10, 4)
        let headerBytes = try bytes.little(14, 4)
        let isCore = headerBytes == 12
        let width = isCore ? try bytes.little(18, 2) : Int(Int32(truncatingIfNeeded: try bytes.little(18, 4)))
        // A negative height means that the top row comes first.
        let height = isCore ? try bytes.little(20, 2) : abs(Int(Int32(truncatingIfNeeded: try bytes.little(22, 4))))
        let depth = try bytes.little(isCore ? 24 : 28, 2)
        let compression = headerBytes >= 40 ? try bytes.little(30, 4) : 0
        do throws(ImageError) { try limits.check(width: width, height: height) } catch { throw .failed(error) }
        if compression == 0 || compression == 3 {
            guard [1, 2, 4, 8, 16, 24, 32].contains(depth) else { throw .corrupt("BMP: \(depth) bits a pixel") }
            // Both factors are within the limit on pixels, so nothing overflows. The last row may lack its padding.
            let row = (width * depth + 31) / 32 * 4
            leastLength = pixels + row * (height - 1) + (width * depth + 7) / 8
        }
        return ImageHeader(
            format: .bmp, width: width, height: height, color: depth <= 8 && depth > 0 ? .indexed : .rgb,
            bitDepth: depth > 8 && depth != 16 ? 8 : nil, undecodable: "BMP")
    }
}
