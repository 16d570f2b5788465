#if Curl
    /// The header section of a response, built line by line as libcurl hands it over, and judged.
    ///
    /// Interim responses (1xx) are passed over, and lines behind the section (trailers) are ignored; all count
    /// against the limits.
    struct CurlResponseHead {
        private(set) var status = 0
        /// `1.0`, `1.1`, `2`.
        private(set) var version: String?
        private(set) var fields = HTTPFields()
        private(set) var isComplete = false
        /// Of a complete section: the body's length where it says so.
        private(set) var contentLength: Int64?
        private var bytes = 0
        private var count = 0
        private let maxBytes: Int
        private let maxFields: Int

        init(maxBytes: Int, maxFields: Int) {
            self.maxBytes = maxBytes
            self.maxFields = maxFields
        }

        /// Takes one line with its end. True once the section of the final response is complete.
        mutating func feed(_ line: UnsafeRawBufferPointer) throws(ImageError) -> Bool {
            bytes += line.count
            count += 1
            // The status line and the empty line are no fields.
            guard bytes <= maxBytes, count - 2 <= maxFields else {
                throw .tooLarge(.init("the header section has more than \(maxBytes) bytes or \(maxFields) fields"))
            }
            if isComplete { return false }
            var end = line.count
            if end > 0, line[end - 1] == 10 { end -= 1 }
            if end > 0, line[end - 1] == 13 { end -= 1 }
            let text = UnsafeRawBufferPointer(rebasing: line[..<end])
            guard !text.contains(where: { $0 == 0 || $0 == 13 || $0 == 10 }) else {
                throw .malformed("a header line has a NUL or a bare CR")
            }
            if text.isEmpty {
                try endSection()
            } else if status == 0 {
                try readStatus(text)
            } else {
                readField(text)
            }
            return isComplete
        }

        private mutating func readStatus(_ line: UnsafeRawBufferPointer) throws(ImageError) {
            let protocolName = line.prefix { $0 != 0x20 }
            let code = line[protocolName.endIndex...].drop { $0 == 0x20 }.prefix { $0 != 0x20 }
            guard protocolName.starts(with: "HTTP/".utf8), code.count == 3, code.allSatisfy({ (48...57).contains($0) })
            else { throw .malformed("the status line is malformed") }
            status = code.reduce(0) { $0 * 10 + Int($1 - 48) }
            guard status >= 100 else { throw .malformed("the status is \(status)") }
            guard status != 101 else { throw .malformed("the server changes to another protocol unasked (101)") }
            version = String(decoding: protocolName.dropFirst(5), as: UTF8.self)
        }

        private mutating func readField(_ line: UnsafeRawBufferPointer) {
            if line[0] == 0x20 || line[0] == 0x09 {
                // Obsolete line folding: a space (RFC 9112 §5.2).
                guard let last = fields.fields.indices.last else { return }
                fields.fields[last].value += " " + text(line, from: 0)
                return
            }
            // Neither a field without a name nor white space before the colon: libcurl does not heed them either.
            var colon = 0
            while colon < line.count, line[colon].isToken { colon += 1 }
            guard colon > 0, colon < line.count, line[colon] == 0x3A else { return }
            let name = String(decoding: UnsafeRawBufferPointer(rebasing: line[..<colon]), as: UTF8.self)
            fields.append(name, text(line, from: colon + 1))
        }

        private mutating func endSection() throws(ImageError) {
            guard status >= 200 else {
                guard status != 0 else { throw .malformed("the response has no status line") }
                status = 0
                fields = .init()
                return
            }
            // RFC 9110 §8.6: what is repeated must be the same.
            let lengths = fields.values("content-length").flatMap { $0.split(separator: ",") }
            for text in lengths {
                let digits = text.trimmed
                guard !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }) else {
                    throw .malformed("Content-Length is \(text.debugDescription)")
                }
                guard let length = Int64(digits) else { throw .tooLarge(.init("Content-Length is \(digits)")) }
                guard contentLength == nil || contentLength == length else {
                    throw .malformed("Content-Length is contradictory: \(lengths.joined(separator: ", "))")
                }
                contentLength = length
            }
            if fields["transfer-encoding"] != nil {
                // RFC 9112 §6.3: it overrides the length, which must not mislead whoever reads on.
                contentLength = nil
                fields["content-length"] = nil
            }
            isComplete = true
        }

        /// A value without white space around it, in UTF-8 or else ISO 8859-1.
        private func text(_ line: UnsafeRawBufferPointer, from start: Int) -> String {
            var (start, end) = (start, line.count)
            while start < end, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
            while start < end, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
            let value = UnsafeRawBufferPointer(rebasing: line[start..<end])
            if value.allSatisfy({ $0 < 128 }) { return String(decoding: value, as: UTF8.self) }
            return String(validating: value, as: UTF8.self)
                ?? String(String.UnicodeScalarView(value.map { Unicode.Scalar($0) }))
        }
    }

    extension Substring {
        fileprivate var trimmed: Substring {
            var text = self
            while let first = text.first, first == " " || first == "\t" { text = text.dropFirst() }
            while let last = text.last, last == " " || last == "\t" { text = text.dropLast() }
            return text
        }
    }
#endif
