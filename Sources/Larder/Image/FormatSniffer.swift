/// Tells formats apart by their first bytes.
enum FormatSniffer {
    enum Answer: Equatable {
        case format(ImageFormat)
        /// More bytes can still make it a format.
        case undecided
        /// No format of ours, whatever follows; says what it looks like.
        case none(String)
        /// A known format that nothing here reads.
        case unsupported(String)
    }

    /// How many bytes are looked at, at most: an SVG may begin with long comments.
    static let longest = 4096

    static func sniff(_ all: UnsafeRawBufferPointer) -> Answer {
        // Never more, so that the answer does not depend on the pieces in which bytes come.
        let bytes = UnsafeRawBufferPointer(rebasing: all.prefix(longest))
        var undecided = false
        for (format, signature) in signatures {
            switch match(bytes, signature) {
            case .whole: return .format(format)
            case .part: undecided = true
            case .none: break
            }
        }
        for check in [riff, fileType, bitmap, icon, vector] {
            switch check(bytes) {
            case .none: break
            case .undecided: undecided = true
            case let answer: return answer
            }
        }
        for signature in jpeg2000 {
            switch match(bytes, signature) {
            case .whole: return .unsupported("JPEG 2000")
            case .part: undecided = true
            case .none: break
            }
        }
        return undecided && bytes.count < longest ? .undecided : .none(description(of: bytes))
    }

    private enum Match { case whole, part, none }

    private static func match(_ bytes: UnsafeRawBufferPointer, _ signature: [UInt8], at offset: Int = 0) -> Match {
        for (index, byte) in signature.enumerated() {
            guard offset + index < bytes.count else { return .part }
            if bytes[offset + index] != byte { return .none }
        }
        return .whole
    }

    private static let signatures: [(ImageFormat, [UInt8])] = [
        (.jpeg, [0xFF, 0xD8, 0xFF]),
        (.png, [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]),
        (.gif, Array("GIF87a".utf8)),
        (.gif, Array("GIF89a".utf8)),
        (.tiff, [0x49, 0x49, 0x2A, 0x00]),
        (.tiff, [0x4D, 0x4D, 0x00, 0x2A]),
        (.tiff, [0x49, 0x49, 0x2B, 0x00]),
        (.tiff, [0x4D, 0x4D, 0x00, 0x2B]),
        (.jxl, [0xFF, 0x0A]),
        (.jxl, [0x00, 0x00, 0x00, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A, 0x87, 0x0A]),
    ]

    private static let jpeg2000: [[UInt8]] = [
        [0x00, 0x00, 0x00, 0x0C, 0x6A, 0x50, 0x20, 0x20, 0x0D, 0x0A, 0x87, 0x0A],
        [0xFF, 0x4F, 0xFF, 0x51],
    ]

    private static func riff(_ bytes: UnsafeRawBufferPointer) -> Answer {
        switch (match(bytes, Array("RIFF".utf8)), match(bytes, Array("WEBP".utf8), at: 8)) {
        case (.none, _), (_, .none): .none("")
        case (.whole, .whole): .format(.webp)
        default: .undecided
        }
    }

    /// An ISO base media file (ISO/IEC 14496-12): the brands of its first box tell.
    private static func fileType(_ bytes: UnsafeRawBufferPointer) -> Answer {
        switch match(bytes, Array("ftyp".utf8), at: 4) {
        case .none: return .none("")
        case .part: return bytes.isEmpty || bytes[0] == 0 ? .undecided : .none("")
        case .whole: break
        }
        let size = bytes.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard size >= 16, size <= 1024 else { return .none("") }
        guard bytes.count >= size else { return .undecided }
        let brands = [8] + Array(stride(from: 16, through: size - 4, by: 4))
        var answer = Answer.none("an ISO media file, but no image of a known kind")
        for offset in brands {
            switch String(decoding: bytes[offset..<offset + 4], as: UTF8.self) {
            case "avif", "avis": return .format(.avif)
            case "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs": answer = .format(.heic)
            case "mif1", "msf1", "mif2": if answer != .format(.heic) { answer = .format(.heic) }
            default: break
            }
        }
        return answer
    }

    private static func bitmap(_ bytes: UnsafeRawBufferPointer) -> Answer {
        guard match(bytes, Array("BM".utf8)) != .none else { return .none("") }
        guard bytes.count >= 18 else { return .undecided }
        let size = bytes[14..<18].reversed().reduce(0) { $0 << 8 | Int($1) }
        return [12, 16, 40, 52, 56, 64, 108, 124].contains(size) ? .format(.bmp) : .none("")
    }

    /// A directory of icons or cursors; its signature is weak, so the first entry must make sense too.
    private static func icon(_ bytes: UnsafeRawBufferPointer) -> Answer {
        guard match(bytes, [0, 0, 1, 0]) != .none || match(bytes, [0, 0, 2, 0]) != .none else { return .none("") }
        guard bytes.count >= 22 else { return .undecided }
        let count = Int(bytes[4]) | Int(bytes[5]) << 8
        let offset = bytes[18..<22].reversed().reduce(0) { $0 << 8 | Int($1) }
        return count > 0 && bytes[9] == 0 && offset >= 6 + 16 * count ? .format(.ico) : .none("")
    }

    private static func vector(_ bytes: UnsafeRawBufferPointer) -> Answer {
        var scanner = MarkupScanner(bytes)
        switch scanner.findRoot() {
        case .root(let name): return name == "svg" ? .format(.svg) : .none("")
        case .undecided: return .undecided
        case .none: return .none("")
        }
    }

    /// What the bytes look like, for the error's text.
    static func description(of bytes: UnsafeRawBufferPointer) -> String {
        guard !bytes.isEmpty else { return "there are no bytes" }
        if bytes.starts(with: [0x1F, 0x8B]) { return "the bytes are gzip data" }
        let text = String(decoding: bytes.prefix(64), as: UTF8.self).lowercased()
        let start = text.drop { $0.isWhitespace }
        if start.hasPrefix("<!doctype html") || start.hasPrefix("<html") { return "the bytes are an HTML page" }
        if start.hasPrefix("<?xml") || start.hasPrefix("<") { return "the bytes are markup, but no SVG" }
        if start.hasPrefix("{") || start.hasPrefix("[") { return "the bytes look like JSON" }
        let hex = bytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
        return "the bytes begin with \(hex), as no known image does"
    }
}
