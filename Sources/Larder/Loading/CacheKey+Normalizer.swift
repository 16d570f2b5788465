extension CacheKey {
    /// Rules that take out of a URL what does not name the picture, such as the signature of a signed URL, before it
    /// becomes a cache key. The URL that is requested stays as it is.
    ///
    ///     CacheKey.Normalizer(dropping: ["X-Amz-*", "Expires", "Signature"], on: "*.example.com")
    public struct Normalizer: Sendable, Hashable {
        private struct Rule: Hashable {
            let host: HostPolicy.Pattern?
            let parameters: [String]
        }

        private var rules: [Rule]

        /// Rules that change nothing.
        public init() { rules = [] }

        /// Drops query parameters of these names (a `*` at the end stands for any rest; `*` alone for all of them)
        /// from URLs of the host.
        ///
        /// - Parameters:
        ///   - parameters: the names.
        ///   - host: as ``HostPolicy/Pattern`` reads it; `*`, the default, for every host. A host that is no pattern
        ///     matches nothing.
        public init(dropping parameters: [String], on host: String = "*") {
            rules = []
            drop(parameters, on: host)
        }

        /// Adds a rule.
        public mutating func drop(_ parameters: [String], on host: String = "*") {
            rules.append(Rule(host: HostPolicy.Pattern(host), parameters: parameters))
        }

        /// The URL as the key has it.
        package func callAsFunction(_ url: NormalizedURL) -> String {
            guard !rules.isEmpty, let mark = url.string.firstIndex(of: "?") else { return url.string }
            let host = url.host
            let names = rules.filter { rule in
                rule.host.map { HostPolicy(allowed: [$0]).permits(host) } ?? false
            }.flatMap(\.parameters)
            guard !names.isEmpty else { return url.string }
            let kept = url.string[url.string.index(after: mark)...].split(
                separator: "&", omittingEmptySubsequences: false
            )
            .filter { pair in
                let name = pair.prefix { $0 != "=" }
                return !names.contains { Self.matches($0, name) }
            }
            let path = url.string[..<mark]
            return kept.isEmpty ? String(path) : path + "?" + kept.joined(separator: "&")
        }

        private static func matches(_ pattern: String, _ name: Substring) -> Bool {
            pattern.hasSuffix("*") ? name.hasPrefix(pattern.dropLast()) : name == pattern
        }
    }
}
