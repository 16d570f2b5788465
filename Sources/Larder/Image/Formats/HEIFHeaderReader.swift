/// HEIC and AVIF (ISO/IEC 23008-12): the properties of the primary item, from the `meta` box.
struct HEIFHeaderReader: Sendable {
    private(set) var position = 0

    mutating func read(
        _ format: ImageFormat, _ bytes: ByteWindow, _ limits: ImageLimits
    ) throws(HeaderStop) -> ImageHeader {
        while true {
            let box = try BoxHeader(bytes, position)
            guard box.type == "meta" else {
                guard let end = box.end else { throw .corrupt("\(format.rawValue.uppercased()): no meta box") }
                position = end
                continue
            }
            guard let end = box.end else {
                throw .corrupt("\(format.rawValue.uppercased()): a meta box without an end")
            }
            let content = ByteWindow(try bytes.slice(box.body, end - box.body))
            do throws(HeaderStop) {
                return try Meta(content).header(format)
            } catch .missing {
                throw .corrupt("\(format.rawValue.uppercased()): a damaged meta box")
            }
        }
    }

    private struct Meta {
        private var primary: Int?
        private var properties: [(type: String, body: ByteWindow)] = []
        /// Indices of the primary item's properties, counted from 1, in order.
        private var associations: [Int]?
        /// More cannot be named.
        private static let maxProperties = 0x7FFF

        init(_ bytes: ByteWindow) throws(HeaderStop) {
            var tables: [ByteWindow] = []
            // A full box: version and flags first.
            try Self.children(bytes, from: 4) { (type, body) throws(HeaderStop) in
                switch type {
                case "pitm": primary = try body.u8(0) == 0 ? try body.u16(4) : try body.u32(4)
                case "iprp":
                    try Self.children(body, from: 0) { (type, body) throws(HeaderStop) in
                        switch type {
                        case "ipco":
                            try Self.children(body, from: 0) {
                                if properties.count < Self.maxProperties { properties.append(($0, $1)) }
                            }
                        case "ipma": tables.append(body)
                        default: break
                        }
                    }
                default: break
                }
            }
            // Which item is the primary one may be said behind them.
            for table in tables { try readAssociations(table) }
        }

        private static func children(
            _ bytes: ByteWindow, from start: Int, _ body: (String, ByteWindow) throws(HeaderStop) -> Void
        ) throws(HeaderStop) {
            var offset = start
            while offset < bytes.end {
                let box = try BoxHeader(bytes, offset)
                let end = box.end ?? bytes.end
                try body(box.type, ByteWindow(try bytes.slice(box.body, end - box.body)))
                offset = end
            }
        }

        private mutating func readAssociations(_ bytes: ByteWindow) throws(HeaderStop) {
            let version = try bytes.u8(0)
            let isWide = try bytes.u8(3) & 1 != 0
            let count = try bytes.u32(4)
            var offset = 8
            for _ in 0..<count {
                let item = version < 1 ? try bytes.u16(offset) : try bytes.u32(offset)
                offset += version < 1 ? 2 : 4
                let entries = try bytes.u8(offset)
                offset += 1
                if item == primary {
                    associations = try (0..<entries).map { (index) throws(HeaderStop) in
                        isWide ? try bytes.u16(offset + 2 * index) & 0x7FFF : try bytes.u8(offset + index) & 0x7F
                    }
                }
                offset += entries * (isWide ? 2 : 1)
            }
        }

        func header(_ format: ImageFormat) throws(HeaderStop) -> ImageHeader {
            let name = format.rawValue.uppercased()
            // The orientation is always stated: without irot and imir it is upright, whatever EXIF says.
            var header = ImageHeader(format: format, width: 0, height: 0, hasOrientation: true, undecodable: name)
            guard let indices = associations else { throw .corrupt("\(name): no primary item") }
            for index in indices where index > 0 && index <= properties.count {
                let (type, body) = properties[index - 1]
                switch type {
                case "ispe":
                    header.width = try body.u32(4)
                    header.height = try body.u32(8)
                case "clap":
                    // The clean aperture: width and height as fractions. What lies around it is never shown.
                    let (width, height) = (
                        try body.u32(0) / max(1, try body.u32(4)), try body.u32(8) / max(1, try body.u32(12))
                    )
                    if width > 0, width <= header.width { header.width = width }
                    if height > 0, height <= header.height { header.height = height }
                case "irot": header.orientation = header.orientation.then(.turned(try body.u8(0) & 3))
                case "imir":
                    header.orientation = header.orientation.then(try body.u8(0) & 1 == 0 ? .downMirrored : .upMirrored)
                case "pixi": header.bitDepth = try body.u8(5)
                case "colr":
                    let kind = try body.tag(0)
                    if kind == "prof" || kind == "rICC" { header.iccBytes = body.bytes.count - 4 }
                default: break
                }
            }
            header.hasAlpha = properties.contains { type, body in
                type == "auxC" && String(decoding: body.bytes, as: UTF8.self).contains("alpha")
            }
            return header
        }
    }
}

extension Orientation {
    /// Turned counter-clockwise by `quarters` of 90°, as `irot` says it.
    fileprivate static func turned(_ quarters: Int) -> Orientation {
        switch quarters {
        case 1: .left
        case 2: .down
        case 3: .right
        default: .up
        }
    }
}

struct HEICHeaderReader: HeaderReader {
    private var reader = HEIFHeaderReader()
    var position: Int { reader.position }
    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        try reader.read(.heic, bytes, limits)
    }
}

struct AVIFHeaderReader: HeaderReader {
    private var reader = HEIFHeaderReader()
    var position: Int { reader.position }
    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        try reader.read(.avif, bytes, limits)
    }
}
