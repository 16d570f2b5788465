/// Appends JSON to bytes, without Foundation: a report of a million lines is written with it.
package struct JSONWriter {
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    /// Text that is JSON already.
    package mutating func raw(_ text: StaticString) {
        text.withUTF8Buffer { bytes.append(contentsOf: $0) }
    }

    package mutating func raw(_ text: [UInt8]) { bytes.append(contentsOf: text) }

    /// `"name":` and, where it is not the first member, a comma before it.
    package mutating func key(_ name: StaticString) {
        if let last = bytes.last, last != UInt8(ascii: "{"), last != UInt8(ascii: "[") {
            bytes.append(UInt8(ascii: ","))
        }
        bytes.append(UInt8(ascii: "\""))
        raw(name)
        raw("\":")
    }

    package mutating func member(_ name: StaticString, _ value: Int) {
        key(name)
        integer(value)
    }

    package mutating func member(_ name: StaticString, _ value: String) {
        key(name)
        string(value)
    }

    package mutating func member(_ name: StaticString, _ value: Bool) {
        key(name)
        if value { raw("true") } else { raw("false") }
    }

    /// With `places` digits behind the point.
    package mutating func member(_ name: StaticString, _ value: Double, places: Int) {
        key(name)
        number(value, places: places)
    }

    package mutating func integer(_ value: Int) {
        guard value < 0 || value > 9 else { return bytes.append(UInt8(ascii: "0") + UInt8(value)) }
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
            var start = digits.count
            while rest > 0 {
                start -= 1
                digits[start] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
            bytes.append(contentsOf: UnsafeMutableBufferPointer(rebasing: digits[start...]))
        }
    }

    package mutating func number(_ value: Double, places: Int) {
        let scale = (0..<places).reduce(1.0) { product, _ in product * 10 }
        guard value.isFinite, let whole = Int(exactly: (value * scale).rounded()) else { return raw("null") }
        if whole < 0 { bytes.append(UInt8(ascii: "-")) }
        let unit = UInt(scale)
        integer(Int(whole.magnitude / unit))
        guard places > 0 else { return }
        bytes.append(UInt8(ascii: "."))
        let part = String(whole.magnitude % unit)
        bytes.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: places - part.utf8.count))
        bytes.append(contentsOf: part.utf8)
    }

    package mutating func string(_ text: String) {
        var text = text
        bytes.append(UInt8(ascii: "\""))
        text.withUTF8 { letters in
            var plain = letters.startIndex
            for at in letters.indices {
                let letter = letters[at]
                guard letter < 0x20 || letter == UInt8(ascii: "\"") || letter == UInt8(ascii: "\\") || letter == 0x7F
                else { continue }
                bytes.append(contentsOf: letters[plain..<at])
                plain = at + 1
                escape(letter)
            }
            bytes.append(contentsOf: letters[plain...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// The bytes as a string of lower-case hex digits.
    package mutating func hex(_ value: [UInt8]) {
        func digit(_ part: UInt8) -> UInt8 { part + (part < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10) }
        bytes.append(UInt8(ascii: "\""))
        for byte in value {
            bytes.append(digit(byte >> 4))
            bytes.append(digit(byte & 15))
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ letter: UInt8) {
        switch letter {
        case UInt8(ascii: "\""): raw("\\\"")
        case UInt8(ascii: "\\"): raw("\\\\")
        case 0x0A: raw("\\n")
        case 0x0D: raw("\\r")
        case 0x09: raw("\\t")
        default:
            raw("\\u00")
            bytes.append(UInt8(ascii: "0") + (letter >> 4))
            bytes.append(Array("0123456789abcdef".utf8)[Int(letter & 15)])
        }
    }
}
