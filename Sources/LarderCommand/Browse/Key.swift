/// A key that was pressed in a terminal.
enum Key: Equatable {
    case character(Character)
    case enter, escape, backspace, up, down, pageUp, pageDown, home, end, interrupt

    /// The keys in bytes read from a terminal in raw mode; an unfinished sequence is left in `bytes`.
    static func parse(_ bytes: inout [UInt8]) -> [Key] {
        var keys: [Key] = []
        var rest = bytes[...]
        while let first = rest.first {
            switch first {
            case 3: take(.interrupt, 1)
            case 13, 10: take(.enter, 1)
            case 8, 127: take(.backspace, 1)
            case 27:
                guard let (key, length) = sequence(rest) else {
                    // An escape that begins no sequence is the key itself: sequences arrive whole.
                    let begins =
                        rest.count > 1 && [UInt8(ascii: "["), UInt8(ascii: "O")].contains(rest[rest.startIndex + 1])
                    if begins { take(nil, rest.count) } else { take(.escape, 1) }
                    continue
                }
                take(key, length)
            case ..<32: take(nil, 1)
            default:
                let length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
                guard rest.count >= length else {
                    bytes = Array(rest)
                    return keys
                }
                let text = String(decoding: rest.prefix(length), as: UTF8.self)
                take(text.first.map(Key.character), length)
            }
        }
        bytes = []
        return keys

        func take(_ key: Key?, _ length: Int) {
            if let key { keys.append(key) }
            rest = rest.dropFirst(length)
        }
    }

    private static let sequences: [(String, Key)] = [
        ("\u{1B}[A", .up), ("\u{1B}[B", .down), ("\u{1B}OA", .up), ("\u{1B}OB", .down),
        ("\u{1B}[5~", .pageUp), ("\u{1B}[6~", .pageDown), ("\u{1B}[H", .home), ("\u{1B}[F", .end),
        ("\u{1B}[1~", .home), ("\u{1B}[4~", .end), ("\u{1B}OH", .home), ("\u{1B}OF", .end),
    ]

    private static func sequence(_ bytes: ArraySlice<UInt8>) -> (Key?, Int)? {
        for (text, key) in sequences where bytes.starts(with: text.utf8) { return (key, text.utf8.count) }
        // Another CSI sequence: passed over whole.
        guard bytes.count > 2, bytes.dropFirst().first == UInt8(ascii: "["),
            let end = bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) })
        else { return nil }
        return (nil, end - bytes.startIndex + 1)
    }
}
