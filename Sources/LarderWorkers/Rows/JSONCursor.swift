/// A strict reader (RFC 8259) over the bytes of one JSON text: rows are read with it at a rate that Foundation's
/// decoder cannot reach. Nesting is bounded, nothing is copied but the strings that are asked for.
package struct JSONCursor {
    private let bytes: UnsafeBufferPointer<UInt8>
    /// The offset of the next byte.
    package private(set) var position = 0

    /// Where a text stops being JSON.
    package struct Mistake: Error, Equatable {
        package var reason: String
        /// Offset of the byte, from 0.
        package var position: Int
    }

    package static let maxDepth = 64

    package init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    package func mistake(_ reason: String) -> Mistake { Mistake(reason: reason, position: position) }

    package var isAtEnd: Bool { position >= bytes.count }

    package mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    /// The next byte that is no white space, without taking it; nil at the end.
    package mutating func peek() -> UInt8? {
        skipSpace()
        return position < bytes.count ? bytes[position] : nil
    }

    /// Takes `byte` if it comes next.
    package mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    package mutating func expect(_ byte: UInt8) throws(Mistake) {
        guard take(byte) else {
            throw mistake(isAtEnd ? "the JSON ends too early" : "a '\(Character(Unicode.Scalar(byte)))' was expected")
        }
    }

    /// Nothing but white space may follow.
    package mutating func expectEnd() throws(Mistake) {
        guard peek() == nil else { throw mistake("there is something behind the JSON value") }
    }

    /// Calls `body` for each member of an object, the cursor standing before its value, which `body` must take.
    package mutating func members<Failure: Error>(
        _ body: (_ key: String, _ cursor: inout JSONCursor) throws(Failure) -> Void,
        _ convert: (Mistake) -> Failure
    ) throws(Failure) {
        func run<T>(_ work: (inout JSONCursor) throws(Mistake) -> T) throws(Failure) -> T {
            do throws(Mistake) { return try work(&self) } catch { throw convert(error) }
        }
        try run { (cursor) throws(Mistake) in try cursor.expect(UInt8(ascii: "{")) }
        if take(UInt8(ascii: "}")) { return }
        repeat {
            let key = try run { (cursor) throws(Mistake) in try cursor.string() }
            try run { (cursor) throws(Mistake) in try cursor.expect(UInt8(ascii: ":")) }
            try body(key, &self)
        } while take(UInt8(ascii: ","))
        try run { (cursor) throws(Mistake) in try cursor.expect(UInt8(ascii: "}")) }
    }

    package mutating func members(
        _ body: (_ key: String, _ cursor: inout JSONCursor) throws(Mistake) -> Void
    ) throws(Mistake) {
        try members(body) { $0 }
    }

    /// Takes a string and undoes its escapes.
    package mutating func string() throws(Mistake) -> String {
        let range = try stringRange()
        guard range.hasEscapes else { return try text(bytes[range.content]) }
        var plain: [UInt8] = []
        plain.reserveCapacity(range.content.count)
        var at = range.content.lowerBound
        while at < range.content.upperBound {
            guard bytes[at] == UInt8(ascii: "\\") else {
                plain.append(bytes[at])
                at += 1
                continue
            }
            let escape = bytes[at + 1]
            at += 2
            switch escape {
            case UInt8(ascii: "n"): plain.append(0x0A)
            case UInt8(ascii: "t"): plain.append(0x09)
            case UInt8(ascii: "r"): plain.append(0x0D)
            case UInt8(ascii: "b"): plain.append(0x08)
            case UInt8(ascii: "f"): plain.append(0x0C)
            case UInt8(ascii: "u"):
                var unit = hex(at)
                at += 4
                if unit & 0xFC00 == 0xD800, at + 6 <= range.content.upperBound, bytes[at] == UInt8(ascii: "\\"),
                    bytes[at + 1] == UInt8(ascii: "u"), hex(at + 2) & 0xFC00 == 0xDC00
                {
                    unit = 0x10000 + (unit & 0x3FF) << 10 + hex(at + 2) & 0x3FF
                    at += 6
                }
                // Half a surrogate pair stands for nothing: U+FFFD.
                let scalar = Unicode.Scalar(unit) ?? "\u{FFFD}"
                plain += Array(String(Character(scalar)).utf8)
            default: plain.append(escape)
            }
        }
        return try text(plain)
    }

    /// Takes any value and gives its range.
    package mutating func value() throws(Mistake) -> Range<Int> {
        skipSpace()
        let start = position
        try skip(depth: 0)
        return start..<position
    }

    /// Takes a number that is an integer; nil for any other value, which is taken as well.
    package mutating func integer() throws(Mistake) -> Int? {
        let range = try value()
        return Int(String(decoding: bytes[range], as: UTF8.self))
    }

    /// Appends a value's bytes without the white space between its parts, so that it fits on one line.
    package func appendCompact(_ range: Range<Int>, to output: inout [UInt8]) {
        var inString = false
        var at = range.lowerBound
        while at < range.upperBound {
            let byte = bytes[at]
            at += 1
            if inString {
                output.append(byte)
                if byte == UInt8(ascii: "\\") {
                    output.append(bytes[at])
                    at += 1
                } else if byte == UInt8(ascii: "\"") {
                    inString = false
                }
            } else if byte != 0x20, byte != 0x0A, byte != 0x0D, byte != 0x09 {
                output.append(byte)
                inString = byte == UInt8(ascii: "\"")
            }
        }
    }

    private func text(_ bytes: some Collection<UInt8>) throws(Mistake) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw mistake("it is not valid UTF-8") }
        return text
    }

    private func hex(_ at: Int) -> UInt32 {
        bytes[at..<at + 4].reduce(0) { $0 << 4 | UInt32(Self.digit($1) ?? 0) }
    }

    static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    /// Takes a string; every escape in it has been checked.
    private mutating func stringRange() throws(Mistake) -> (content: Range<Int>, hasEscapes: Bool) {
        try expect(UInt8(ascii: "\""))
        let start = position
        var hasEscapes = false
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return (start..<position - 1, hasEscapes)
            }
            guard byte >= 0x20 else { throw mistake("a control character stands in a string") }
            position += 1
            guard byte == UInt8(ascii: "\\") else { continue }
            hasEscapes = true
            guard position < bytes.count else { break }
            switch bytes[position] {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
                UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
                position += 1
            case UInt8(ascii: "u"):
                guard position + 5 <= bytes.count,
                    bytes[position + 1..<position + 5].allSatisfy({ Self.digit($0) != nil })
                else { throw mistake("an escape in a string is not complete") }
                position += 5
            default: throw mistake("there is no such escape in JSON")
            }
        }
        throw mistake("a string has no end")
    }

    private mutating func skip(depth: Int) throws(Mistake) {
        guard depth <= Self.maxDepth else { throw mistake("it is nested deeper than \(Self.maxDepth) levels") }
        switch peek() {
        case UInt8(ascii: "\""): _ = try stringRange()
        case UInt8(ascii: "{"):
            position += 1
            if take(UInt8(ascii: "}")) { return }
            repeat {
                skipSpace()
                _ = try stringRange()
                try expect(UInt8(ascii: ":"))
                try skip(depth: depth + 1)
            } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "}"))
        case UInt8(ascii: "["):
            position += 1
            if take(UInt8(ascii: "]")) { return }
            repeat { try skip(depth: depth + 1) } while take(UInt8(ascii: ","))
            try expect(UInt8(ascii: "]"))
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        case nil: throw mistake("the JSON ends too early")
        default: try number()
        }
    }

    private mutating func word(_ word: StaticString) throws(Mistake) {
        let matches = word.withUTF8Buffer { letters in
            position + letters.count <= bytes.count
                && zip(letters, bytes[position..<position + letters.count]).allSatisfy { $0 == $1 }
        }
        guard matches else { throw mistake("a value was expected") }
        position += word.utf8CodeUnitCount
    }

    private mutating func number() throws(Mistake) {
        func digits(_ cursor: inout JSONCursor) -> Int {
            let start = cursor.position
            while cursor.position < cursor.bytes.count, (0x30...0x39).contains(cursor.bytes[cursor.position]) {
                cursor.position += 1
            }
            return cursor.position - start
        }
        func next() -> UInt8? { position < bytes.count ? bytes[position] : nil }
        if next() == UInt8(ascii: "-") { position += 1 }
        let startsWithZero = next() == UInt8(ascii: "0")
        let whole = digits(&self)
        guard whole > 0, !startsWithZero || whole == 1 else { throw mistake("a value was expected") }
        if next() == UInt8(ascii: ".") {
            position += 1
            guard digits(&self) > 0 else { throw mistake("a number is not complete") }
        }
        if next() == UInt8(ascii: "e") || next() == UInt8(ascii: "E") {
            position += 1
            if next() == UInt8(ascii: "+") || next() == UInt8(ascii: "-") { position += 1 }
            guard digits(&self) > 0 else { throw mistake("a number is not complete") }
        }
    }
}
