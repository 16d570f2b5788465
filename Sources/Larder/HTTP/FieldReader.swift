/// Reads the grammar that list-valued header fields share (RFC 9110 §5.6): tokens, quoted strings, commas.
struct FieldReader {
    private let bytes: [UInt8]
    private(set) var at = 0

    init(_ value: String) { bytes = Array(value.utf8) }

    var isAtEnd: Bool { at >= bytes.count }

    mutating func skipWhitespace() {
        while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x09 { at += 1 }
    }

    mutating func skip(_ byte: UInt8) -> Bool {
        guard at < bytes.count, bytes[at] == byte else { return false }
        at += 1
        return true
    }

    /// The token here as written, or nil.
    mutating func token() -> String? {
        let start = at
        while at < bytes.count, bytes[at].isToken { at += 1 }
        return at == start ? nil : String(decoding: bytes[start..<at], as: UTF8.self)
    }

    /// The text of the quoted string here, unescaped; nil where none begins or it does not end.
    mutating func quotedString() -> String? {
        guard skip(UInt8(ascii: "\"")) else { return nil }
        var text: [UInt8] = []
        while at < bytes.count {
            let byte = bytes[at]
            at += 1
            if byte == UInt8(ascii: "\"") { return String(decoding: text, as: UTF8.self) }
            if byte == UInt8(ascii: "\\"), at < bytes.count {
                text.append(bytes[at])
                at += 1
            } else {
                text.append(byte)
            }
        }
        return nil
    }

    /// Goes to the start of the next member of the list: behind the next comma outside a quoted string.
    mutating func skipMember() {
        while at < bytes.count, bytes[at] != UInt8(ascii: ",") {
            if bytes[at] == UInt8(ascii: "\"") { _ = quotedString() } else { at += 1 }
        }
        at += 1
    }

    /// Whether only white space stands before the next comma or the end.
    mutating func isAtMemberEnd() -> Bool {
        skipWhitespace()
        return at >= bytes.count || bytes[at] == UInt8(ascii: ",")
    }

    /// The members of a list of tokens, in lower case; anything else is passed over.
    static func lowercasedTokens(_ values: [String]) -> [String] {
        values.flatMap { value in
            var reader = FieldReader(value)
            var tokens: [String] = []
            while !reader.isAtEnd {
                reader.skipWhitespace()
                if let token = reader.token(), reader.isAtMemberEnd() { tokens.append(token.lowercased()) }
                reader.skipMember()
            }
            return tokens
        }
    }

    /// `1*DIGIT` in whole, held to 2^31 (RFC 9111 §1.2.2); nil for anything else.
    static func deltaSeconds(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in text.utf8 {
            guard byte >= 48, byte <= 57 else { return nil }
            value = min(value * 10 + Int64(byte - 48), 1 << 31)
        }
        return value
    }
}

extension UInt8 {
    /// Whether the byte may stand in a token (RFC 9110 §5.6.2).
    package var isToken: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
        default: false
        }
    }
}
