/// The directives of `Cache-Control` that a private cache acts on (RFC 9111 §5.2, RFC 5861, RFC 8246).
///
/// Names compare without case; arguments may be tokens or quoted strings; of a repeated directive the first counts
/// (§4.2.1); unknown ones, `s-maxage` and `proxy-revalidate` (for shared caches) are passed over. A `max-age` whose
/// argument is no number is 0: such a response is stale. A restriction (`no-store`) counts whatever its argument.
package struct CacheControl: Sendable, Hashable {
    /// Seconds, at most 2^31.
    package var maxAge: Int64?
    package var minFresh: Int64?
    /// `.max` where `max-stale` has no argument: however stale.
    package var maxStale: Int64?
    package var staleWhileRevalidate: Int64?
    package var staleIfError: Int64?
    package var noStore = false
    /// Without an argument. With one, the fields are in ``noCacheFields``.
    package var noCache = false
    /// Fields that must not be used without validation: they are not stored.
    package var noCacheFields: [String] = []
    package var mustRevalidate = false
    package var mustUnderstand = false
    package var isPublic = false
    /// With or without an argument: to a private cache the fields make no difference.
    package var isPrivate = false
    package var immutable = false
    package var onlyIfCached = false

    package init() {}

    /// Reads the values of all `Cache-Control` fields of a message.
    package init(_ values: [String]) {
        for value in values {
            var reader = FieldReader(value)
            while !reader.isAtEnd {
                reader.skipWhitespace()
                if let name = reader.token() { add(name.lowercased(), Self.argument(&reader)) }
                reader.skipMember()
            }
        }
    }

    package init(_ fields: HTTPFields) { self.init(fields.values("cache-control")) }

    private enum Argument {
        case none
        case value(String)
        /// Not by the grammar: white space around `=`, a broken quote, something behind it.
        case malformed
    }

    private static func argument(_ reader: inout FieldReader) -> Argument {
        if reader.skip(UInt8(ascii: "=")) {
            guard let value = reader.quotedString() ?? reader.token(), reader.isAtMemberEnd() else { return .malformed }
            return .value(value)
        }
        return reader.isAtMemberEnd() ? .none : .malformed
    }

    private mutating func add(_ name: String, _ argument: Argument) {
        func seconds() -> Int64? {
            if case .value(let text) = argument { FieldReader.deltaSeconds(text) } else { nil }
        }
        switch name {
        case "max-age": maxAge = maxAge ?? seconds() ?? 0
        case "min-fresh": minFresh = minFresh ?? seconds()
        case "max-stale":
            if case .none = argument { maxStale = maxStale ?? .max } else { maxStale = maxStale ?? seconds() }
        case "stale-while-revalidate": staleWhileRevalidate = staleWhileRevalidate ?? seconds()
        case "stale-if-error": staleIfError = staleIfError ?? seconds()
        case "no-store": noStore = true
        case "no-cache":
            if case .value(let list) = argument {
                noCacheFields += FieldReader.lowercasedTokens([list])
            } else {
                noCache = true
            }
        case "must-revalidate": mustRevalidate = true
        case "must-understand": mustUnderstand = true
        case "public": isPublic = true
        case "private": isPrivate = true
        case "immutable": immutable = true
        case "only-if-cached": onlyIfCached = true
        default: break
        }
    }
}
