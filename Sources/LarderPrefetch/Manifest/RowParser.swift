import LarderWorkers

/// Takes the records of one format from a stream.
protocol RowParser {
    /// The next row, or nil at the end.
    mutating func next(_ number: Int, _ stream: inout ByteStream) throws(ManifestError) -> Row?
    /// Whether the next row is likely to be complete in the stream's buffer, so that taking it does not wait.
    func hasRow(_ stream: borrowing ByteStream) -> Bool
}

extension RowParser {
    func hasRow(_ stream: borrowing ByteStream) -> Bool { stream.hasLine }
}

/// What a record that is too long is refused with.
func tooLong(_ limit: Int) -> String { "it is \(limit) bytes or longer" }

/// A URL a line. Empty lines and lines that begin with `#` are no records.
struct TextRows: RowParser {
    let limit: Int

    mutating func next(_ number: Int, _ stream: inout ByteStream) throws(ManifestError) -> Row? {
        while true {
            switch try stream.nextLine(limit: limit) {
            case .end: return nil
            case .tooLong: return .bad(number, tooLong(limit))
            case .line(let range):
                let row = stream.buffer.withUnsafeBufferPointer { buffer -> Row? in
                    var start = range.lowerBound
                    var end = range.upperBound
                    while start < end, buffer[start].isBlank { start += 1 }
                    while end > start, buffer[end - 1].isBlank { end -= 1 }
                    guard start < end, buffer[start] != UInt8(ascii: "#") else { return nil }
                    guard let url = String(validating: buffer[start..<end], as: UTF8.self) else {
                        return .bad(number, "it is not valid UTF-8")
                    }
                    return Row(number: number, url: url)
                }
                if let row { return row }
            }
        }
    }
}

/// A string or an object a line. Empty lines are no records.
struct JSONLinesRows: RowParser {
    let limit: Int
    let decoder: RowDecoder

    mutating func next(_ number: Int, _ stream: inout ByteStream) throws(ManifestError) -> Row? {
        while true {
            switch try stream.nextLine(limit: limit) {
            case .end: return nil
            case .tooLong: return .bad(number, tooLong(limit))
            case .line(let range):
                let row = stream.buffer.withUnsafeBufferPointer { buffer -> Row? in
                    let line = UnsafeBufferPointer(rebasing: buffer[range])
                    guard !line.allSatisfy(\.isBlank) else { return nil }
                    do throws(JSONCursor.Mistake) {
                        return try decoder.row(number, json: line)
                    } catch {
                        return .bad(number, "byte \(error.position + 1) of the line: \(error.reason)")
                    }
                }
                if let row { return row }
            }
        }
    }
}

extension UInt8 {
    /// Space, tab or carriage return.
    var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0D }
}
