import Larder

/// What libmicrohttpd 0.9.75 lets through although it tells two servers on one connection different things
/// (RFC 9112 §11.2, request smuggling). Checked before anything else; what fails is answered 400 and the connection
/// ends, so that whatever was smuggled behind it is never read.
package enum RequestFraming {
    /// A header field as it came: bytes, because a name may hold what no name may hold.
    package struct RawField: Sendable, Hashable {
        package var name: [UInt8]
        package var value: [UInt8]
        package init(_ name: [UInt8], _ value: [UInt8]) {
            self.name = name
            self.value = value
        }
    }

    /// The fields as text.
    ///
    /// - Parameters:
    ///   - version: `HTTP/1.1` and the like.
    ///   - hasCutTarget: whether the request line is longer than its parts, which a NUL in it brings about.
    package static func check(
        _ raw: [RawField], version: String, hasCutTarget: Bool
    ) throws(Problem) -> HTTPFields {
        guard version == "HTTP/1.1" || version == "HTTP/1.0" else {
            throw .badRequest("The request line must end with HTTP/1.1.")
        }
        guard !hasCutTarget else { throw .badRequest("The request line holds a NUL or more than one space.") }
        var fields = HTTPFields()
        fields.fields.reserveCapacity(raw.count)
        var hosts = 0
        var lengths = 0
        for field in raw {
            guard !field.name.isEmpty, field.name.allSatisfy({ $0.isToken }) else {
                throw .badRequest("A header field has a name that no field can have.")
            }
            guard field.value.allSatisfy({ $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }) else {
                throw .badRequest("A header field holds a control character.")
            }
            let name = String(decoding: field.name, as: UTF8.self)
            let value = String(decoding: field.value, as: UTF8.self)
            switch name.utf8.count {
            case 4 where name.equalsIgnoringCase("host"): hosts += 1
            case 14 where name.equalsIgnoringCase("content-length"):
                lengths += 1
                guard value == "0" else { throw .badRequest("Requests to this server have no body.") }
            case 17 where name.equalsIgnoringCase("transfer-encoding"):
                throw .badRequest("Requests to this server have no body: Transfer-Encoding is refused.")
            default: break
            }
            fields.append(name, value)
        }
        guard hosts <= 1, lengths <= 1 else { throw .badRequest("Host or Content-Length is given twice.") }
        guard hosts == 1 || version == "HTTP/1.0" else { throw .badRequest("The field Host is missing.") }
        return fields
    }
}
