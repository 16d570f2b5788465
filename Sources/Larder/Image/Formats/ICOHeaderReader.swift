/// ICO and CUR: a directory of pictures; the largest one counts.
struct ICOHeaderReader: HeaderReader {
    private(set) var position = 0
    private(set) var leastLength: Int?

    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        let count = try bytes.little(4, 2)
        _ = try bytes.slice(0, 6 + 16 * count)
        var best = (width: 0, height: 0)
        var least = 0
        for index in 0..<count {
            let entry = 6 + 16 * index
            let width = try bytes.u8(entry)
            let height = try bytes.u8(entry + 1)
            // 0 stands for 256.
            let size = (width: width == 0 ? 256 : width, height: height == 0 ? 256 : height)
            if size.width * size.height > best.width * best.height { best = size }
            least = max(least, try bytes.little(entry + 8, 4) + (try bytes.little(entry + 12, 4)))
        }
        leastLength = least
        return ImageHeader(format: .ico, width: best.width, height: best.height, hasAlpha: true, undecodable: "ICO")
    }
}
