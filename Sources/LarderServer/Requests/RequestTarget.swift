import Larder

/// A request target taken apart (RFC 9112 §3.2): path and query, still percent-encoded.
package struct RequestTarget: Sendable, Hashable {
    /// Begins with a slash.
    package var path: String
    /// Behind the question mark; nil where there is none.
    package var query: String?
    /// The authority of an absolute-form target, which replaces the Host field.
    package var authority: String?

    /// Bytes of the longest target that is looked at.
    package static let maxLength = 4096

    package init(_ target: String) throws(Problem) {
        guard target.utf8.count <= Self.maxLength else {
            throw Problem(414, "uri_too_long", "The address is longer than \(Self.maxLength) bytes.")
        }
        guard target.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "#") }) else {
            throw .badRequest("The address contains a space, a control character or a '#'. Percent-encode it.")
        }
        var rest = Substring(target)
        if rest.first != "/" {
            guard let scheme = ["http://", "https://"].first(where: { rest.lowercased().hasPrefix($0) }) else {
                throw .badRequest("The address must begin with a slash.")
            }
            rest = rest.dropFirst(scheme.count)
            let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
            authority = String(rest[..<end])
            rest = rest[end...]
        }
        let question = rest.utf8.firstIndex(of: UInt8(ascii: "?"))
        path = String(rest[..<(question ?? rest.endIndex)])
        if path.isEmpty { path = "/" }
        query = question.map { String(rest[rest.utf8.index(after: $0)...]) }
    }

    /// The parameters of the query, decoded, in order. An empty query has none.
    ///
    /// A `+` stands for itself: clients that mean a space in a URL write `%20`, and Foundation leaves the plus of a
    /// URL as it is.
    ///
    /// - Parameter plusIsSpace: for what forms send, whose spaces are a plus and whose plus is `%2B`.
    package func parameters(plusIsSpace: Bool = false) throws(Problem) -> [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        for part in (query ?? "").split(separator: "&") {
            let part = plusIsSpace ? part.replacing("+", with: " ") : part
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = pair[0].percentDecoded, let value = (pair.count > 1 ? pair[1] : "").percentDecoded else {
                throw .badRequest("'\(part.prefix(80))' is not percent-encoded UTF-8.")
            }
            if parameters.contains(where: { $0.name == name }) {
                throw .badRequest("'\(name)' is given twice. A URL inside the address must be percent-encoded.")
            }
            parameters.append((name, value))
        }
        return parameters
    }
}

extension StringProtocol {
    /// The text with its percent escapes resolved, or nil where an escape is broken, stands for NUL, or the result is
    /// not UTF-8.
    package var percentDecoded: String? {
        func digit(_ byte: UInt8) -> UInt8? {
            switch byte {
            case 0x30...0x39: byte - 0x30
            case 0x41...0x46: byte - 0x41 + 10
            case 0x61...0x66: byte - 0x61 + 10
            default: nil
            }
        }
        guard utf8.contains(UInt8(ascii: "%")) else { return String(self) }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(utf8.count)
        var iterator = utf8.makeIterator()
        while let byte = iterator.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = iterator.next().flatMap(digit), let low = iterator.next().flatMap(digit) else {
                return nil
            }
            let decoded = high << 4 | low
            guard decoded != 0 else { return nil }
            bytes.append(decoded)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
