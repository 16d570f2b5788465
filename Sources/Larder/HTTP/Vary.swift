/// Which request fields a response was chosen by (RFC 9111 §4.1).
package enum Vary: Sendable, Hashable {
    /// No `Vary`: every request matches.
    case none
    /// The names, in lower case, sorted, each once.
    case fields([String])
    /// `*`: no request ever matches.
    case any

    package init(_ response: HTTPFields) {
        let names = Set(FieldReader.lowercasedTokens(response.values("vary")))
        self = names.isEmpty ? .none : names.contains("*") ? .any : .fields(names.sorted())
    }

    /// The request's values of the named fields: what is stored to be compared later. An absent field has none, and
    /// credentials are left out: they are no text to be kept, and the key tells them apart already.
    package func values(of request: HTTPFields) -> HTTPFields {
        HTTPFields(
            compared.compactMap { name in
                request[name].map { HTTPFields.Field(name, Self.normalised($0)) }
            })
    }

    /// Whether the request would be answered by the stored response: each named field is equal, or absent in both.
    package func matches(_ request: HTTPFields, stored: HTTPFields) -> Bool {
        switch self {
        case .none: true
        case .any: false
        case .fields:
            compared.allSatisfy { name in request[name].map(Self.normalised) == stored[name].map(Self.normalised) }
        }
    }

    private var compared: [String] {
        guard case .fields(let names) = self else { return [] }
        return names.filter { !Credentials.isCredential($0) }
    }

    /// White space around commas makes no difference (§4.1, first rule).
    private static func normalised(_ value: String) -> String {
        guard value.utf8.contains(UInt8(ascii: ",")) || value.utf8.contains(UInt8(ascii: " ")) else { return value }
        return value.split(separator: ",", omittingEmptySubsequences: false)
            .map { part in
                String(part.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
            }
            .joined(separator: ",")
    }
}
