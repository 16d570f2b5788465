/// GIF (89a specification): the logical screen, and the first frame's flags.
struct GIFHeaderReader: HeaderReader {
    private(set) var position = 0
    private var width = 0
    private var height = 0
    /// Within an extension: `position` is that of a sub-block.
    private var isInExtension = false

    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        if position == 0 {
            width = try bytes.little(6, 2)
            height = try bytes.little(8, 2)
            let flags = try bytes.u8(10)
            try check(width, height, limits)
            position = 13 + Self.tableBytes(flags)
        }
        while true {
            if isInExtension {
                // One by one: what has been passed is not looked at again when more bytes come.
                let length = try bytes.u8(position)
                position += 1 + length
                isInExtension = length > 0
                continue
            }
            switch try bytes.u8(position) {
            case 0x21:
                // An extension: label, then sub-blocks. The label is followed by a sub-block in any case.
                _ = try bytes.u8(position + 1)
                position += 2
                isInExtension = true
            case 0x2C:
                let left = try bytes.little(position + 1, 2)
                let top = try bytes.little(position + 3, 2)
                let right = left + (try bytes.little(position + 5, 2))
                let bottom = top + (try bytes.little(position + 7, 2))
                let isInterlaced = try bytes.u8(position + 9) & 0x40 != 0
                // A frame may reach over the screen, and decoders then enlarge it.
                try check(max(width, right), max(height, bottom), limits)
                return ImageHeader(
                    format: .gif, width: width, height: height, color: .indexed, bitDepth: 8,
                    isProgressive: isInterlaced, undecodable: "GIF")
            case 0x3B: throw .corrupt("GIF: no picture")
            default: throw .corrupt("GIF: a damaged block at byte \(position)")
            }
        }
    }

    private func check(_ width: Int, _ height: Int, _ limits: ImageLimits) throws(HeaderStop) {
        do throws(ImageError) { try limits.check(width: width, height: height) } catch { throw .failed(error) }
    }

    private static func tableBytes(_ flags: Int) -> Int { flags & 0x80 == 0 ? 0 : 3 << ((flags & 7) + 1) }

    /// The offset behind the sub-blocks that begin at `offset`.
    private static func skipSubBlocks(_ bytes: ByteWindow, _ offset: Int) throws(HeaderStop) -> Int {
        var offset = offset
        while true {
            let length = try bytes.u8(offset)
            offset += 1 + length
            if length == 0 { return offset }
        }
    }

    static let checksWhole = true

    /// Walks all blocks and counts the frames.
    static func check(_ bytes: UnsafeRawBufferPointer, _ header: inout ImageHeader) throws(ImageError) {
        do throws(HeaderStop) {
            header.frames = try countFrames(ByteWindow(bytes))
        } catch {
            switch error {
            case .missing: throw .truncated(.init("GIF: the data end within a frame"))
            case .failed(let failure): throw failure
            }
        }
    }

    private static func countFrames(_ bytes: ByteWindow) throws(HeaderStop) -> Int {
        var offset = 13 + tableBytes(try bytes.u8(10))
        var frames = 0
        while true {
            // A missing trailer is no loss once there is a frame.
            if frames > 0, offset >= bytes.end { return frames }
            switch try bytes.u8(offset) {
            case 0x21: offset = try skipSubBlocks(bytes, offset + 2)
            case 0x2C:
                let table = tableBytes(try bytes.u8(offset + 9))
                offset = try skipSubBlocks(bytes, offset + 10 + table + 1)
                frames += 1
            case 0x3B: return frames
            default: throw .corrupt("GIF: a damaged block at byte \(offset)")
            }
        }
    }
}
