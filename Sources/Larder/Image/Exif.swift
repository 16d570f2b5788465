/// The one thing of EXIF that changes how an image looks: the orientation in IFD0.
enum Exif {
    /// - Parameter tiff: the EXIF block from its byte order mark on (TIFF 6.0, section 2).
    /// - Returns: nil where it is absent, out of range or broken; broken metadata never fails an image.
    static func orientation(_ tiff: UnsafeRawBufferPointer) -> Orientation? {
        try? read(ByteWindow(tiff))
    }

    private static func read(_ bytes: ByteWindow) throws(HeaderStop) -> Orientation? {
        let bigEndian: Bool
        switch try bytes.u16(0) {
        case 0x4949: bigEndian = false
        case 0x4D4D: bigEndian = true
        default: return nil
        }
        guard try bytes.u16(2, bigEndian: bigEndian) == 42 else { return nil }
        let directory = try bytes.u32(4, bigEndian: bigEndian)
        let count = try bytes.u16(directory, bigEndian: bigEndian)
        for index in 0..<count {
            let entry = directory + 2 + index * 12
            guard try bytes.u16(entry, bigEndian: bigEndian) == 0x0112 else { continue }
            // SHORT by the standard; some writers use LONG.
            let value =
                switch try bytes.u16(entry + 2, bigEndian: bigEndian) {
                case 3: try bytes.u16(entry + 8, bigEndian: bigEndian)
                case 4: try bytes.u32(entry + 8, bigEndian: bigEndian)
                default: 0
                }
            return UInt8(exactly: value).flatMap { Orientation(rawValue: $0) }
        }
        return nil
    }

    /// An APP1 segment that states the orientation and nothing else.
    static func segment(_ orientation: Orientation) -> [UInt8] {
        let tiff: [UInt8] =
            Array("MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, orientation.rawValue, 0, 0]
            + [0, 0, 0, 0]
        let body = Array("Exif\0\0".utf8) + tiff
        return [0xFF, 0xE1, 0, UInt8(body.count + 2)] + body
    }
}
