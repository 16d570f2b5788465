/// The rules of a `robots.txt` for one robot (RFC 9309).
package struct RobotsFile: Sendable, Hashable {
    private struct Rule: Hashable {
        var allows: Bool
        /// Percent-encoded as URLs are; `*` stands for anything, `$` at the end for the end.
        var pattern: [UInt8]
    }

    private var rules: [Rule] = []

    /// Everything allowed: no file, or a 4xx (§2.3.1.3).
    package static let allowsAll = RobotsFile()
    /// Nothing allowed: the file cannot be had for a fault of the server or the network (§2.3.1.4).
    package static let allowsNothing: RobotsFile = {
        var file = RobotsFile()
        file.rules = [Rule(allows: false, pattern: [UInt8(ascii: "/")])]
        return file
    }()

    private init() {}

    /// Bytes that are read at most (§2.5 asks for at least 500 KiB).
    package static let maxBytes = 512 << 10
    private static let maxRules = 10_000

    /// - Parameter agent: our product token in lower case, such as `larder`.
    package init(_ bytes: [UInt8], agent: String) {
        var general: [Rule] = []
        var own: [Rule] = []
        var hasOwn = false
        // Consecutive user-agent lines share the rules that follow.
        var names: [String] = []
        var inRules = false
        for line in bytes.prefix(Self.maxBytes).split(whereSeparator: { $0 == 10 || $0 == 13 }) {
            let text = String(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
            guard let colon = text.firstIndex(of: ":") else { continue }
            let name = String(text[..<colon]).trimmed.lowercased()
            let value = String(text[text.index(after: colon)...]).trimmed
            switch name {
            case "user-agent":
                if inRules { names = [] }
                inRules = false
                names.append(value.lowercased())
                if names.last == agent { hasOwn = true }
            case "allow", "disallow":
                inRules = true
                // An empty rule matches nothing.
                guard !value.isEmpty, own.count + general.count < Self.maxRules else { continue }
                let rule = Rule(allows: name == "allow", pattern: Self.encoded(value))
                if names.contains(agent) { own.append(rule) }
                if names.contains("*") { general.append(rule) }
            default:
                continue
            }
        }
        rules = hasOwn ? own : general
    }

    /// Whether path and query may be fetched: the longest matching rule decides, `allow` on a tie (§2.2.2).
    package func permits(_ target: some StringProtocol) -> Bool {
        let target = Self.encoded(target)
        var longest = -1
        var allows = true
        for rule in rules where rule.pattern.count >= longest && Self.matches(rule.pattern, target) {
            if rule.pattern.count > longest || rule.allows { allows = rule.allows }
            longest = rule.pattern.count
        }
        return allows
    }

    /// Both sides in one spelling: what must be encoded is, with capital digits.
    private static func encoded(_ text: some StringProtocol) -> [UInt8] {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        var escape = 0
        for byte in text.utf8 {
            if byte > 0x20, byte < 0x7F {
                if byte == UInt8(ascii: "%") { escape = 3 }
                bytes.append(escape > 0 && byte >= 97 && byte <= 102 ? byte - 32 : byte)
                escape = max(0, escape - 1)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return bytes
    }

    /// Greedy with one point to come back to: no pattern takes more than pattern × text steps.
    private static func matches(_ pattern: [UInt8], _ text: [UInt8]) -> Bool {
        let isAnchored = pattern.last == UInt8(ascii: "$")
        let pattern = isAnchored ? pattern.dropLast() : pattern[...]
        var (at, position) = (0, 0)
        var star: (pattern: Int, text: Int)?
        while position < text.count {
            if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
                star = (at, position)
                at += 1
            } else if at < pattern.count, pattern[at] == text[position] {
                at += 1
                position += 1
            } else if at == pattern.count, !isAnchored {
                return true
            } else if let back = star {
                at = back.pattern + 1
                position = back.text + 1
                star = (back.pattern, back.text + 1)
            } else {
                return false
            }
        }
        return pattern[at...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
