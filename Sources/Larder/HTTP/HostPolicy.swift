import Foundation

/// Which hosts may be asked: `--allow-host` and `--deny-host`. What is denied is denied, whatever is allowed.
public struct HostPolicy: Sendable, Hashable {
    /// A host name (`example.com`: that host alone), all hosts below one (`*.example.com`: at any depth, but not
    /// itself), an address (`192.0.2.1`, `2001:db8::1`, in any spelling), or `*` for every host.
    public struct Pattern: Sendable, Hashable {
        private enum Kind: Hashable {
            case every
            case name(String)
            case below(String)
            case address([UInt8])
        }

        private let kind: Kind

        /// Nil where the text is no pattern: empty, with a scheme, a port, a path, or a `*` elsewhere.
        public init?(_ text: String) {
            let text = text.trimmingCharacters(in: .whitespaces)
            if text == "*" {
                kind = .every
            } else if let address = AddressPolicy.literal(text) {
                kind = .address(address)
            } else if text.hasPrefix("*."), let name = HostPolicy.canonical(text.dropFirst(2)) {
                kind = .below("." + name)
            } else if let name = HostPolicy.canonical(text) {
                kind = .name(name)
            } else {
                return nil
            }
        }

        /// `host` is canonical.
        fileprivate func matches(_ host: String, _ address: [UInt8]?) -> Bool {
            switch kind {
            case .every: true
            case .name(let name): host == name
            case .below(let suffix): address == nil && host.hasSuffix(suffix) && host.count > suffix.count
            case .address(let bytes): address == bytes
            }
        }
    }

    /// The hosts that may be asked; empty (the default) for all.
    public var allowed: [Pattern]
    /// The hosts that may not be asked; empty by default.
    public var denied: [Pattern]

    /// Hosts that may be asked (all, where none is named) without those that may not.
    public init(allowed: [Pattern] = [], denied: [Pattern] = []) {
        self.allowed = allowed
        self.denied = denied
    }

    /// Whether a URL's host may be asked.
    public func permits(_ host: String) -> Bool {
        if allowed.isEmpty, denied.isEmpty { return true }
        let address = AddressPolicy.literal(host)
        guard let name = address != nil ? host : Self.canonical(host) else { return false }
        return !denied.contains { $0.matches(name, address) }
            && (allowed.isEmpty || allowed.contains { $0.matches(name, address) })
    }

    /// Lower case, IDN as `xn--`, without the root's dot; nil where it is no host name.
    private static func canonical(_ text: some StringProtocol) -> String? {
        guard !text.isEmpty, !text.contains(where: { "*/:?#@ \\%[]".contains($0) }),
            var host = URL(string: "http://\(text)/")?.host?.lowercased()
        else { return nil }
        if host.hasSuffix(".") { host.removeLast() }
        return host.isEmpty ? nil : host
    }
}
