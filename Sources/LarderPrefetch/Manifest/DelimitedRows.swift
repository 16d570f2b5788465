import LarderWorkers

/// RFC 4180: a header row, then records; fields in quotes may hold delimiters, quotes (doubled) and line breaks.
struct DelimitedRows: RowParser {
    private let limit: Int
    private let delimiter: UInt8
    private let decoder: RowDecoder
    private var header: [(name: String, column: RowDecoder.Column)] = []

    init(limit: Int, delimiter: UInt8, decoder: RowDecoder) {
        self.limit = limit
        self.delimiter = delimiter
        self.decoder = decoder
    }

    private enum Record {
        case fields([Substring])
        case bad(String)
        case end
    }

    mutating func next(_ number: Int, _ stream: inout ByteStream) throws(ManifestError) -> Row? {
        if header.isEmpty, !(try readHeader(&stream)) { return nil }
        switch try record(&stream) {
        case .end: return nil
        case .bad(let problem): return .bad(number, problem)
        case .fields(let fields): return row(number, fields)
        }
    }

    /// False for an empty manifest.
    private mutating func readHeader(_ stream: inout ByteStream) throws(ManifestError) -> Bool {
        switch try record(&stream) {
        case .end: return false
        case .bad(let problem): throw .malformed("the header row cannot be read: \(problem)", place: "line 1")
        case .fields(let fields):
            let names = fields.map { String($0).trimmingBlanks }
            let alike = names.filter { $0.lowercased() == decoder.urlColumn.lowercased() }
            guard let urlColumn = names.contains(decoder.urlColumn) ? decoder.urlColumn : alike.first else {
                throw .malformed(
                    "there is no column '\(decoder.urlColumn)' in the header row, only: "
                        + names.prefix(20).joined(separator: ", ") + "; name the right one with --url-col",
                    place: "line 1")
            }
            header = names.map { ($0, $0 == urlColumn ? .url : decoder.column($0)) }
            return true
        }
    }

    private func row(_ number: Int, _ fields: [Substring]) -> Row {
        var row = Row(number: number, url: "")
        guard fields.count <= header.count else {
            return .bad(
                number,
                "it has \(fields.count) fields, but the header row has \(header.count); a field with the delimiter in it must be quoted"
            )
        }
        var others = JSONWriter()
        for (field, (name, column)) in zip(fields, header) {
            guard column == .other else {
                let value = String(field)
                if let problem = decoder.set(column, value, of: &row), row.problem == nil { row.problem = problem }
                continue
            }
            others.bytes.append(UInt8(ascii: others.bytes.isEmpty ? "{" : ","))
            others.string(name)
            others.bytes.append(UInt8(ascii: ":"))
            others.string(String(field))
        }
        if !others.bytes.isEmpty {
            others.bytes.append(UInt8(ascii: "}"))
            row.input = others.bytes
        }
        row.url = row.url.trimmingBlanks
        return decoder.checked(row)
    }

    /// The next record that is not an empty line.
    private func record(_ stream: inout ByteStream) throws(ManifestError) -> Record {
        while true {
            switch try stream.nextLine(limit: limit) {
            case .end: return .end
            case .tooLong: return .bad(tooLong(limit))
            case .line(let range):
                let bytes = stream.buffer[range]
                if bytes.isEmpty || bytes.count == 1 && bytes.first == 0x0D { continue }
                guard bytes.contains(UInt8(ascii: "\"")) else { return plain(bytes) }
                return try quoted(Array(bytes), &stream)
            }
        }
    }

    private func plain(_ bytes: ArraySlice<UInt8>) -> Record {
        let bytes = bytes.last == 0x0D ? bytes.dropLast() : bytes
        guard let text = String(validating: bytes, as: UTF8.self) else { return .bad("it is not valid UTF-8") }
        // By bytes: a delimiter and a combining mark behind it are one Character.
        return .fields(text.utf8.split(separator: delimiter, omittingEmptySubsequences: false).map(Substring.init))
    }

    /// Follows quotes from line to line. One that does not stand at a field's beginning is a byte like any other.
    private struct QuoteScan {
        let delimiter: UInt8
        private(set) var isInside = false
        private var isAtStart = true
        /// The byte before closed a field, or is the first of two quotes that stand for one.
        private var hasClosed = false

        init(delimiter: UInt8) { self.delimiter = delimiter }

        mutating func feed(_ bytes: some Sequence<UInt8>) {
            for byte in bytes {
                let isQuote = byte == UInt8(ascii: "\"")
                if isInside {
                    if isQuote { (isInside, hasClosed) = (false, true) }
                } else {
                    isInside = isQuote && (isAtStart || hasClosed)
                    hasClosed = false
                }
                isAtStart = !isInside && byte == delimiter
            }
        }
    }

    /// A record with quotes: where a quoted field is open at its end, it goes on in the next line.
    private func quoted(_ first: [UInt8], _ stream: inout ByteStream) throws(ManifestError) -> Record {
        var bytes = first
        var quotes = QuoteScan(delimiter: delimiter)
        quotes.feed(first)
        while quotes.isInside {
            guard case .line(let range) = try stream.nextLine(limit: limit) else {
                return .bad("a quoted field has no end")
            }
            bytes.append(0x0A)
            bytes += stream.buffer[range]
            quotes.feed(stream.buffer[range])
            guard bytes.count < limit else { return .bad(tooLong(limit)) }
        }
        if bytes.last == 0x0D { bytes.removeLast() }
        return split(bytes)
    }

    private func split(_ bytes: [UInt8]) -> Record {
        var fields: [Substring] = []
        var at = 0
        repeat {
            var field: [UInt8] = []
            if at < bytes.count, bytes[at] == UInt8(ascii: "\"") {
                at += 1
                while true {
                    guard at < bytes.count else { return .bad("a quoted field has no end") }
                    if bytes[at] == UInt8(ascii: "\"") {
                        at += 1
                        guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { break }
                    }
                    field.append(bytes[at])
                    at += 1
                }
                guard at == bytes.count || bytes[at] == delimiter else {
                    return .bad("text stands behind a quoted field; a quote inside quotes must be doubled")
                }
            } else {
                while at < bytes.count, bytes[at] != delimiter {
                    field.append(bytes[at])
                    at += 1
                }
            }
            guard let text = String(validating: field, as: UTF8.self) else { return .bad("it is not valid UTF-8") }
            fields.append(text[...])
            at += 1
        } while at <= bytes.count
        return .fields(fields)
    }
}

extension String {
    /// Without spaces and tabs at both ends.
    fileprivate var trimmingBlanks: String {
        guard let first = utf8.first, let last = utf8.last, first.isBlank || last.isBlank else { return self }
        let start = utf8.drop(while: \.isBlank)
        return String(decoding: start.reversed().drop(while: \.isBlank).reversed(), as: UTF8.self)
    }
}
