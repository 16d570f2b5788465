/// What a record wants of its image beside the URL: in a row's line to a worker, and in the report's line of a
/// failure, so that it can be tried again without its manifest.
extension Row {
    /// Whether it names anything of that kind.
    package var hasWants: Bool { sha256 != nil || priority != 0 || !sizes.isEmpty }

    /// Takes the value of such a member, or of one that is none.
    package mutating func setWant(_ key: String, _ cursor: inout JSONCursor) throws(JSONCursor.Mistake) {
        switch key {
        case "sha256": sha256 = try cursor.string()
        case "priority": priority = try cursor.integer() ?? 0
        case "sizes":
            try cursor.expect(UInt8(ascii: "["))
            if cursor.take(UInt8(ascii: "]")) { return }
            repeat { sizes.append(try cursor.string()) } while cursor.take(UInt8(ascii: ","))
            try cursor.expect(UInt8(ascii: "]"))
        default: _ = try cursor.value()
        }
    }
}

extension JSONWriter {
    /// The members that ``Row/setWant(_:_:)`` takes, as far as the row has them.
    mutating func wants(of row: Row) {
        if let sha256 = row.sha256 { member("sha256", sha256) }
        if row.priority != 0 { member("priority", row.priority) }
        guard !row.sizes.isEmpty else { return }
        key("sizes")
        raw("[")
        for (index, size) in row.sizes.enumerated() {
            if index > 0 { raw(",") }
            string(size)
        }
        raw("]")
    }
}
