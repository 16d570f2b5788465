import Foundation

/// The address of a list on the web: base URL, path and query put together by `URLComponents`, so that Korean
/// text, spaces and `+` arrive as they were meant.
public struct ManifestEndpoint: Sendable, Hashable {
    /// An http or https URL; its path and query come before those below.
    public var base: URL
    /// Path components, unescaped: a `/` inside one is escaped.
    public var path: [String]
    /// Names and values, unescaped, in order. A nil value is a name alone.
    public var query: [Parameter]

    public struct Parameter: Sendable, Hashable {
        public var name: String
        public var value: String?
        public init(_ name: String, _ value: String?) {
            self.name = name
            self.value = value
        }
    }

    public init(base: URL, path: [String] = [], query: [Parameter] = []) {
        self.base = base
        self.path = path
        self.query = query
    }

    /// The address as it is requested, or nil where the base is no URL with a host.
    public var url: URL? {
        guard var components = URLComponents(url: base, resolvingAgainstBaseURL: true), components.host != nil else {
            return nil
        }
        if !path.isEmpty {
            var allowed = CharacterSet.urlPathAllowed
            allowed.remove(charactersIn: "/;+")
            let escaped = path.map { $0.addingPercentEncoding(withAllowedCharacters: allowed) ?? "" }
            let start = components.percentEncodedPath
            components.percentEncodedPath =
                (start.hasSuffix("/") ? String(start.dropLast()) : start)
                + escaped.map { "/" + $0 }.joined()
        }
        if !query.isEmpty {
            // `+` means a space to most servers, and URLQueryItem leaves it as it is: it goes out as %2B.
            var more = URLComponents()
            more.queryItems = query.map { URLQueryItem(name: $0.name, value: $0.value) }
            let escaped = (more.percentEncodedQuery ?? "").replacing("+", with: "%2B")
            let start = components.percentEncodedQuery ?? ""
            components.percentEncodedQuery = start.isEmpty ? escaped : start + "&" + escaped
        }
        return components.url
    }

    /// Whether what was given for a manifest is an address rather than a path: it has a scheme and `//`.
    public static func isAddress(_ text: String) -> Bool {
        guard let end = text.range(of: "://")?.lowerBound, let first = text.unicodeScalars.first else { return false }
        let scheme = text[..<end].unicodeScalars
        return first.properties.isAlphabetic && first.isASCII
            && scheme.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || "0123456789+-.".unicodeScalars.contains($0))
            }
    }

    /// An address as people type it: what may not stand in a URL (spaces, Korean text) is escaped, what is escaped
    /// already stays. Nil where it is no http or https URL with a host.
    public init?(_ text: String) {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased() ?? ""),
            let host = url.host, !host.isEmpty
        else { return nil }
        self.init(base: url)
    }
}
