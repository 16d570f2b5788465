import Larder

/// Rows and results as the lines that pass between a coordinator and its workers. See
/// Documentation/worker-protocol.md.
///
/// What only the coordinator needs (`input`) stays with it. A result's line carries what is counted first, and the
/// rest of the report's line as one value that is cut out and passed on as bytes.
extension Row {
    /// `{"row":12,"url":"…"…}` without a line feed.
    ///
    /// - Parameter number: what the line calls the row: the pool's own count, not the manifest's.
    package func line(as number: Int) -> [UInt8] {
        var line = JSONWriter()
        line.raw("{")
        line.member("row", number)
        line.member("url", url)
        if let id { line.member("id", id) }
        line.wants(of: self)
        line.raw("}")
        return line.bytes
    }

    /// The row of such a line, or nil where it is none.
    package init?(line: [UInt8]) {
        let row = line.withUnsafeBufferPointer { bytes -> Row? in
            var cursor = JSONCursor(bytes)
            var row = Row(number: 0, url: "")
            do throws(JSONCursor.Mistake) {
                try cursor.members { (key, cursor) throws(JSONCursor.Mistake) in try row.set(key, &cursor) }
                try cursor.expectEnd()
            } catch {
                return nil
            }
            return row.number > 0 ? row : nil
        }
        guard let row else { return nil }
        self = row
    }

    private mutating func set(_ key: String, _ cursor: inout JSONCursor) throws(JSONCursor.Mistake) {
        switch key {
        case "row": number = try cursor.integer() ?? 0
        case "url": url = try cursor.string()
        case "id": id = try cursor.string()
        default: try setWant(key, &cursor)
        }
    }
}

extension RowResult {
    /// `{"row":12,"phase":"success","source":"network","bytes":812345,"rest":{…}}` without a line feed.
    package func line(row: Int) -> [UInt8] {
        var line = JSONWriter()
        line.bytes.reserveCapacity(tail.count + 96)
        line.raw("{")
        line.member("row", row)
        switch outcome {
        case .success(let source):
            line.raw(",\"phase\":\"success\",\"source\":\"")
            line.raw(source.name)
            line.raw("\"")
        case .failure(let code):
            line.raw(",\"phase\":\"failure\"")
            line.member("code", code)
        }
        line.member("bytes", bytes)
        line.raw(",\"rest\":{")
        line.raw(tail)
        line.raw("}}")
        return line.bytes
    }

    /// The result of such a line, or nil where it is none.
    package init?(line: [UInt8]) {
        let result = line.withUnsafeBufferPointer { bytes -> RowResult? in
            var cursor = JSONCursor(bytes)
            var (phase, word, size) = ("", "", 0)
            var tail: [UInt8] = []
            do throws(JSONCursor.Mistake) {
                try cursor.members { (key, cursor) throws(JSONCursor.Mistake) in
                    switch key {
                    case "phase": phase = try cursor.string()
                    case "source", "code": word = try cursor.string()
                    case "bytes": size = try cursor.integer() ?? 0
                    case "rest":
                        let range = try cursor.value()
                        tail = range.count >= 2 ? Array(bytes[range.dropFirst().dropLast()]) : []
                    default: _ = try cursor.value()
                    }
                }
                try cursor.expectEnd()
            } catch {
                return nil
            }
            switch phase {
            case "success":
                guard let source = Source(name: word) else { return nil }
                return RowResult(outcome: .success(source), bytes: size, tail: tail)
            case "failure": return RowResult(outcome: .failure(code: word), bytes: size, tail: tail)
            default: return nil
            }
        }
        guard let result else { return nil }
        self = result
    }
}
