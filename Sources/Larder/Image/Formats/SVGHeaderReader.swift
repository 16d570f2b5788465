/// SVG: the root element's `width`, `height` and `viewBox` (SVG 2, section 8), at 96 dots an inch.
struct SVGHeaderReader: HeaderReader {
    private(set) var position = 0

    mutating func read(_ bytes: ByteWindow, _ limits: ImageLimits) throws(HeaderStop) -> ImageHeader {
        // The start is read anew with twice as many bytes each time: all together no more than twice.
        let more = min(bytes.end + max(bytes.end, 64), Self.longest)
        var scanner = MarkupScanner(bytes.bytes)
        guard case .root = scanner.findRoot() else { throw try Self.incomplete(bytes, more) }
        if scanner.hasNestedEntities { throw .corrupt("SVG: entities within entities are not expanded") }
        switch scanner.attributes() {
        case .undecided: throw try Self.incomplete(bytes, more)
        case .malformed: throw .corrupt("SVG: a malformed root element")
        case .found(let attributes):
            let size = Self.size(attributes)
            return ImageHeader(
                format: .svg, width: size.width, height: size.height, color: .rgba, hasAlpha: true, undecodable: "SVG")
        }
    }

    private static let longest = 1 << 16

    private static func incomplete(_ bytes: ByteWindow, _ more: Int) throws(HeaderStop) -> HeaderStop {
        guard bytes.end < longest else { throw .corrupt("SVG: no root element within \(longest) bytes") }
        return .missing(through: more)
    }

    private static func size(_ attributes: [String: String]) -> (width: Int, height: Int) {
        let numbers = (attributes["viewBox"] ?? "").split { $0 == " " || $0 == "," || $0.isNewline || $0 == "\t" }
            .compactMap { Double($0) }
        let box = numbers.count == 4 && numbers[2] > 0 && numbers[3] > 0 ? (numbers[2], numbers[3]) : nil
        let width = attributes["width"].flatMap(length)
        let height = attributes["height"].flatMap(length)
        switch (width, height, box) {
        case (let width?, let height?, _): return (pixels(width), pixels(height))
        case (let width?, nil, let box?): return (pixels(width), pixels(width * box.1 / box.0))
        case (nil, let height?, let box?): return (pixels(height * box.0 / box.1), pixels(height))
        case (nil, nil, let box?): return (pixels(box.0), pixels(box.1))
        default: return (0, 0)
        }
    }

    /// In pixels; nil for what depends on the place where it is shown.
    private static func length(_ text: String) -> Double? {
        let text = text.filter { !$0.isWhitespace }
        let units: [(String, Double)] = [
            ("px", 1), ("pt", 96.0 / 72), ("pc", 16), ("mm", 96 / 25.4), ("cm", 96 / 2.54), ("in", 96), ("", 1),
        ]
        for (unit, factor) in units where text.hasSuffix(unit) {
            return Double(text.dropLast(unit.count)).flatMap { $0 > 0 && $0.isFinite ? $0 * factor : nil }
        }
        return nil
    }

    private static func pixels(_ value: Double) -> Int { Int(min(max(1, value.rounded()), 1e9)) }

    static let checksWhole = true

    static func check(_ bytes: UnsafeRawBufferPointer, _ header: inout ImageHeader) throws(ImageError) {
        var scanner = MarkupScanner(bytes)
        guard case .root = scanner.findRoot(), case .found = scanner.attributes(), !scanner.isSelfClosing else {
            return
        }
        guard scanner.findEndTag() else { throw .truncated(.init("SVG: the root element is not closed")) }
    }
}
