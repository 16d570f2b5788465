import Larder
import LarderWorkers

/// Makes a row of a record: finds the columns that mean something and passes the others through.
struct RowDecoder {
    /// The name of the column or key with the URL.
    var urlColumn: String

    enum Column: Sendable { case url, id, sha256, sizes, priority, other }

    func column(_ name: String) -> Column {
        if name == urlColumn { return .url }
        return switch name {
        case "id": .id
        case "sha256": .sha256
        case "sizes": .sizes
        case "priority": .priority
        default: .other
        }
    }

    /// Fills in one column; says what is wrong with the value, or nil.
    func set(_ column: Column, _ value: String, of row: inout Row) -> String? {
        switch column {
        case .url: row.url = value
        case .id: row.id = value.isEmpty ? nil : value
        case .sha256:
            guard !value.isEmpty else { return nil }
            guard value.utf8.count == 64, value.utf8.allSatisfy(\.isHexDigit) else {
                return "sha256 is not 64 hex digits"
            }
            row.sha256 = value.lowercased()
        case .sizes: row.sizes = value.split(separator: " ").map(String.init)
        case .priority:
            guard !value.isEmpty else { return nil }
            guard let number = Int(value) else { return "priority is not a whole number" }
            row.priority = number
        case .other: break
        }
        return nil
    }

    /// A row of one JSON value; throws where it is no JSON at all.
    func row(_ number: Int, json bytes: UnsafeBufferPointer<UInt8>) throws(JSONCursor.Mistake) -> Row {
        guard bytes.isUTF8 else { return .bad(number, "it is not valid UTF-8") }
        var cursor = JSONCursor(bytes)
        switch cursor.peek() {
        case UInt8(ascii: "\""):
            let url = try cursor.string()
            try cursor.expectEnd()
            return checked(Row(number: number, url: url))
        case UInt8(ascii: "{"):
            let row = try object(number, &cursor)
            try cursor.expectEnd()
            return checked(row)
        default:
            _ = try cursor.value()
            try cursor.expectEnd()
            return .bad(number, "it is neither a string nor an object")
        }
    }

    private func object(_ number: Int, _ cursor: inout JSONCursor) throws(JSONCursor.Mistake) -> Row {
        var row = Row(number: number, url: "")
        var problem: String?
        var others = JSONWriter()
        try cursor.members { (key, cursor) throws(JSONCursor.Mistake) in
            let column = column(key)
            guard column != .other else {
                others.bytes.append(UInt8(ascii: others.bytes.isEmpty ? "{" : ","))
                others.string(key)
                others.bytes.append(UInt8(ascii: ":"))
                let range = try cursor.value()
                return cursor.appendCompact(range, to: &others.bytes)
            }
            let found: String?
            if cursor.peek() == UInt8(ascii: "\"") {
                found = set(column, try cursor.string(), of: &row)
            } else {
                found = try setOther(column, &cursor, of: &row)
            }
            problem = problem ?? found
        }
        if !others.bytes.isEmpty {
            others.bytes.append(UInt8(ascii: "}"))
            row.input = others.bytes
        }
        row.problem = problem
        return row
    }

    /// A known key whose value is no string: numbers and null are taken where they make sense, and a list of sizes.
    private func setOther(
        _ column: Column, _ cursor: inout JSONCursor, of row: inout Row
    ) throws(JSONCursor.Mistake) -> String? {
        if column == .sizes, cursor.take(UInt8(ascii: "[")) {
            var sizes: [String] = []
            if cursor.take(UInt8(ascii: "]")) { return nil }
            repeat {
                let isText = cursor.peek() == UInt8(ascii: "\"")
                sizes.append(isText ? try cursor.string() : try cursor.compact())
            } while cursor.take(UInt8(ascii: ","))
            try cursor.expect(UInt8(ascii: "]"))
            row.sizes = sizes
            return nil
        }
        let text = try cursor.compact()
        if text == "null" { return nil }
        let isNumber = text.utf8.first.map { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) } ?? false
        guard isNumber, column == .id || column == .priority || column == .sizes else {
            return "\(column == .url ? urlColumn : "\(column)") is of the wrong kind"
        }
        return set(column, text, of: &row)
    }

    /// A row without a URL is a bad one.
    func checked(_ row: Row) -> Row {
        var row = row
        if row.problem == nil, row.url.isEmpty { row.problem = "it has no \(urlColumn)" }
        return row
    }
}

extension JSONCursor {
    /// Takes any value and gives its text on one line.
    fileprivate mutating func compact() throws(Mistake) -> String {
        let range = try value()
        var bytes: [UInt8] = []
        appendCompact(range, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool { (0x30...0x39).contains(self) || (0x61...0x66).contains(self | 0x20) }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether the bytes are valid UTF-8; ASCII is found out without allocating.
    var isUTF8: Bool {
        var all: UInt8 = 0
        for byte in self { all |= byte }
        return all < 0x80 || String(validating: self, as: UTF8.self) != nil
    }
}
