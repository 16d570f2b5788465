import LarderWorkers

/// An array of strings or objects, read element by element: memory holds one element, whatever the array's length.
struct JSONArrayRows: RowParser {
    private let limit: Int
    private let decoder: RowDecoder
    /// The keys that lead from the top to the array.
    private let path: [String]
    private enum State { case start, first, next, end }
    private var state = State.start
    private var element: [UInt8] = []

    init(limit: Int, path: [String], decoder: RowDecoder) {
        self.limit = limit
        self.path = path
        self.decoder = decoder
    }

    func hasRow(_ stream: borrowing ByteStream) -> Bool {
        var rest = stream.unread.drop { $0 == 0x0A || $0.isBlank }
        if rest.first == UInt8(ascii: ",") { rest = rest.dropFirst().drop { $0 == 0x0A || $0.isBlank } }
        guard let first = rest.first else { return false }
        if first == UInt8(ascii: "]") { return true }
        var scan = ValueScan()
        return rest.withUnsafeBufferPointer { scan.advance($0) } == nil || scan.isComplete
    }

    mutating func next(_ number: Int, _ stream: inout ByteStream) throws(ManifestError) -> Row? {
        if state == .start {
            try findArray(&stream)
            state = .first
        }
        guard state != .end else { return nil }
        let byte = try stream.nextSignificant()
        if byte == UInt8(ascii: "]") {
            stream.skip()
            try finish(&stream)
            state = .end
            return nil
        }
        if state == .next {
            guard byte == UInt8(ascii: ",") else {
                throw stream.malformed("a comma or the end of the list was expected")
            }
            stream.skip()
        }
        state = .next
        return try readElement(number, &stream)
    }

    private mutating func readElement(_ number: Int, _ stream: inout ByteStream) throws(ManifestError) -> Row {
        _ = try stream.nextSignificant()
        let place = stream.place
        element.removeAll(keepingCapacity: true)
        guard try stream.takeValue(into: &element, limit: limit) else { return .bad(number, tooLong(limit)) }
        guard !element.isEmpty else { throw stream.malformed("a value was expected") }
        do throws(JSONCursor.Mistake) {
            return try element.withUnsafeBufferPointer { (bytes) throws(JSONCursor.Mistake) in
                try decoder.row(number, json: bytes)
            }
        } catch {
            throw .malformed("not JSON: \(error.reason)", place: "byte \(place + error.position)")
        }
    }

    /// Goes down `path` to the array and takes its opening bracket.
    private func findArray(_ stream: inout ByteStream) throws(ManifestError) {
        for key in path { try enter(key, &stream) }
        let byte = try stream.nextSignificant()
        guard byte != UInt8(ascii: "[") else { return stream.skip() }
        guard byte == UInt8(ascii: "{") else {
            throw stream.malformed("not a JSON list: '[' was expected, found '\(printable(byte))'")
        }
        var keys: [String] = []
        try? collect(&keys, &stream)
        let found = keys.isEmpty ? "" : " with the keys " + keys.joined(separator: ", ")
        throw .malformed(
            "it is an object\(found), not a list; "
                + "name the list inside with --items-path, or use --manifest-format jsonl for an object a line",
            place: "byte 1")
    }

    private func enter(_ wanted: String, _ stream: inout ByteStream) throws(ManifestError) {
        guard try stream.nextSignificant() == UInt8(ascii: "{") else {
            throw stream.malformed("no object with the key '\(wanted)' (--items-path \(path.joined(separator: ".")))")
        }
        stream.skip()
        var seen: [String] = []
        while try stream.nextSignificant() == UInt8(ascii: "\"") {
            let key = try stream.takeKey(limit: limit)
            if key == wanted { return }
            if seen.count < 10 { seen.append(key) }
            var nothing: [UInt8] = []
            try stream.takeValue(into: &nothing, limit: 0)
            guard try stream.nextSignificant() == UInt8(ascii: ",") else { break }
            stream.skip()
        }
        throw stream.malformed("there is no key '\(wanted)', only: \(seen.joined(separator: ", "))")
    }

    /// The first keys of the object that comes next, as far as it can be read.
    private func collect(_ keys: inout [String], _ stream: inout ByteStream) throws(ManifestError) {
        stream.skip()
        while keys.count < 10, try stream.nextSignificant() == UInt8(ascii: "\"") {
            keys.append(try stream.takeKey(limit: limit))
            var nothing: [UInt8] = []
            try stream.takeValue(into: &nothing, limit: 0)
            guard try stream.nextSignificant() == UInt8(ascii: ",") else { break }
            stream.skip()
        }
    }

    /// Behind the list: the objects around it must be complete, and nothing may follow.
    private func finish(_ stream: inout ByteStream) throws(ManifestError) {
        for _ in path {
            while try stream.nextSignificant() == UInt8(ascii: ",") {
                stream.skip()
                _ = try stream.nextSignificant()
                _ = try stream.takeKey(limit: limit)
                var nothing: [UInt8] = []
                try stream.takeValue(into: &nothing, limit: 0)
            }
            guard try stream.nextSignificant() == UInt8(ascii: "}") else {
                throw stream.malformed("the end of an object was expected")
            }
            stream.skip()
        }
        while let byte = try stream.peek() {
            guard byte == 0x0A || byte.isBlank else { throw stream.malformed("there is something behind the list") }
            stream.skip()
        }
    }
}

private func printable(_ byte: UInt8) -> String {
    byte >= 0x20 && byte < 0x7F ? String(Unicode.Scalar(byte)) : "byte \(byte)"
}

extension ByteStream {
    fileprivate func malformed(_ reason: String) -> ManifestError { .malformed(reason, place: "byte \(place)") }

    /// The next byte that is no white space, without taking it.
    fileprivate mutating func nextSignificant() throws(ManifestError) -> UInt8 {
        while let byte = try peek() {
            guard byte == 0x0A || byte.isBlank else { return byte }
            skip()
        }
        throw malformed("the JSON ends too early")
    }

    /// Takes `"key":`.
    fileprivate mutating func takeKey(limit: Int) throws(ManifestError) -> String {
        var bytes: [UInt8] = []
        guard try takeValue(into: &bytes, limit: limit) else { throw malformed("a key is too long") }
        let key = bytes.withUnsafeBufferPointer { bytes -> String? in
            var cursor = JSONCursor(bytes)
            return try? cursor.string()
        }
        guard let key else { throw malformed("a key was expected") }
        guard try nextSignificant() == UInt8(ascii: ":") else { throw malformed("a colon was expected") }
        skip()
        return key
    }

    /// Takes the value that comes next, the stream standing at its first byte, and appends it to `value` as long
    /// as it is shorter than `limit`; false where it is not.
    @discardableResult
    fileprivate mutating func takeValue(into value: inout [UInt8], limit: Int) throws(ManifestError) -> Bool {
        var scan = ValueScan()
        var fits = true
        while true {
            let taken = unread.withUnsafeBufferPointer { scan.advance($0) }
            guard let taken else { throw malformed("it is nested too deep") }
            if fits, value.count + taken < limit { value += unread.prefix(taken) } else { fits = false }
            skip(taken)
            if scan.isComplete { return fits }
            guard try fill() else {
                if scan.isScalar { return fits }
                throw malformed("the JSON ends too early")
            }
        }
    }
}

/// Finds the end of a JSON value across the borders of buffers, without judging what is inside.
private struct ValueScan {
    private(set) var isComplete = false
    private var depth = 0
    private var inString = false
    private var escaped = false
    private var started = false
    /// A number or a word: it ends before the byte that cannot belong to it.
    var isScalar: Bool { started && depth == 0 && !inString && !isComplete }

    /// How many bytes belong to the value; nil where the nesting is too deep.
    mutating func advance(_ bytes: UnsafeBufferPointer<UInt8>) -> Int? {
        for (at, byte) in bytes.enumerated() {
            if inString {
                if escaped {
                    escaped = false
                } else if byte == UInt8(ascii: "\\") {
                    escaped = true
                } else if byte == UInt8(ascii: "\"") {
                    inString = false
                    if depth == 0 { return end(at + 1) }
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""):
                if started, depth == 0 { return end(at) }
                inString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                if started, depth == 0 { return end(at) }
                depth += 1
                if depth > 10_000 { return nil }
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return end(at) }
                depth -= 1
                if depth == 0 { return end(at + 1) }
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x0A, 0x0D, 0x09:
                if depth == 0 { return end(at) }
            default: break
            }
            started = true
        }
        return bytes.count
    }

    private mutating func end(_ at: Int) -> Int {
        isComplete = true
        return at
    }
}
