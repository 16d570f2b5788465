/// Reads the start of an XML document up to its root element, without a parser and without expanding anything.
struct MarkupScanner {
    enum Root: Equatable {
        /// The root element's local name; `position` stands behind the name.
        case root(String)
        case undecided
        case none
    }

    enum Attributes: Equatable {
        case found([String: String])
        case undecided
        case malformed
    }

    private let bytes: UnsafeRawBufferPointer
    private(set) var position = 0
    /// The root element's name with its prefix.
    private(set) var rootName = ""
    /// Whether an entity is declared by means of other entities: how a few bytes become gigabytes.
    private(set) var hasNestedEntities = false
    private(set) var isSelfClosing = false

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    mutating func findRoot() -> Root {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        if bytes.starts(with: mark) {
            position = 3
        } else if bytes.count < 3, mark.starts(with: bytes) {
            return .undecided
        }
        while true {
            skipSpace()
            guard position < bytes.count else { return .undecided }
            guard bytes[position] == UInt8(ascii: "<") else { return .none }
            guard position + 1 < bytes.count else { return .undecided }
            switch bytes[position + 1] {
            case UInt8(ascii: "?"):
                guard skip(through: "?>") else { return .undecided }
            case UInt8(ascii: "!"):
                guard skipDeclaration() else { return .undecided }
            default:
                position += 1
                let name = readName()
                guard position < bytes.count else { return name.isEmpty || name.count > 64 ? .none : .undecided }
                rootName = name
                return .root(String(name.split(separator: ":", omittingEmptySubsequences: false).last ?? ""))
            }
        }
    }

    /// The root's attributes; call it after ``findRoot()`` found it.
    mutating func attributes() -> Attributes {
        var found: [String: String] = [:]
        while true {
            let before = position
            skipSpace()
            guard position < bytes.count else { return .undecided }
            if bytes[position] == UInt8(ascii: ">") {
                position += 1
                return .found(found)
            }
            if bytes[position] == UInt8(ascii: "/") {
                guard position + 1 < bytes.count else { return .undecided }
                isSelfClosing = true
                position += 2
                return bytes[position - 1] == UInt8(ascii: ">") ? .found(found) : .malformed
            }
            guard position > before else { return .malformed }
            let name = readName()
            skipSpace()
            guard position < bytes.count else { return .undecided }
            guard !name.isEmpty, bytes[position] == UInt8(ascii: "=") else { return .malformed }
            position += 1
            skipSpace()
            guard position < bytes.count else { return .undecided }
            let quote = bytes[position]
            guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return .malformed }
            let start = position + 1
            guard let end = bytes[start...].firstIndex(of: quote) else { return .undecided }
            found[name] = String(decoding: bytes[start..<end], as: UTF8.self)
            position = end + 1
        }
    }

    /// Whether an end tag of the root's name closes the document, whatever comments stand behind it; looked for from
    /// the end.
    mutating func findEndTag() -> Bool {
        let tag = Array("</\(rootName)".utf8)
        var end = bytes.count
        while let at = bytes[..<end].lastIndex(of: UInt8(ascii: "<")), at >= position {
            if bytes[at...].starts(with: tag) {
                var tail = self
                tail.position = at + tag.count
                tail.skipSpace()
                if tail.position < bytes.count, bytes[tail.position] == UInt8(ascii: ">") { return true }
            }
            end = at
        }
        return false
    }

    private mutating func skipSpace() {
        while position < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[position]) { position += 1 }
    }

    private mutating func readName() -> String {
        let start = position
        let ends: [UInt8] = [0x20, 0x09, 0x0A, 0x0D] + Array("/>=<\"'".utf8)
        while position < bytes.count, !ends.contains(bytes[position]) { position += 1 }
        return String(decoding: bytes[start..<position], as: UTF8.self)
    }

    private mutating func skip(through text: String) -> Bool {
        let pattern = Array(text.utf8)
        var index = position
        while index + pattern.count <= bytes.count {
            if bytes[index..<index + pattern.count].elementsEqual(pattern) {
                position = index + pattern.count
                return true
            }
            index += 1
        }
        return false
    }

    /// A comment, or `<!DOCTYPE …>` with its internal subset.
    private mutating func skipDeclaration() -> Bool {
        if bytes[position...].starts(with: Array("<!--".utf8)) { return skip(through: "-->") }
        var depth = 0
        var quote: UInt8?
        var inEntity = false
        while position < bytes.count {
            let byte = bytes[position]
            if let open = quote {
                if byte == open { quote = nil }
                if inEntity, byte == UInt8(ascii: "&"), !isPlainReference(position + 1) { hasNestedEntities = true }
            } else {
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "'"): quote = byte
                case UInt8(ascii: "<") where bytes[position...].starts(with: Array("<!--".utf8)):
                    guard skip(through: "-->") else { return false }
                    continue
                case UInt8(ascii: "<") where bytes[position...].starts(with: Array("<?".utf8)):
                    guard skip(through: "?>") else { return false }
                    continue
                case UInt8(ascii: "["), UInt8(ascii: "<"):
                    depth += 1
                    if bytes[position...].starts(with: Array("<!ENTITY".utf8)) { inEntity = true }
                case UInt8(ascii: "]"): depth -= 1
                case UInt8(ascii: ">"):
                    depth -= 1
                    inEntity = false
                    if depth <= 0 {
                        position += 1
                        return true
                    }
                default: break
                }
            }
            position += 1
        }
        return false
    }

    /// Whether what stands behind an ampersand is a character, by number or by one of XML's own names (XML 1.0 §4.6).
    private func isPlainReference(_ index: Int) -> Bool {
        let rest = bytes[min(index, bytes.count)...]
        return ["#", "amp;", "lt;", "gt;", "quot;", "apos;"].contains { rest.starts(with: Array($0.utf8)) }
    }
}
