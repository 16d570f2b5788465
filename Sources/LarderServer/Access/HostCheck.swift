import Glibc
import Larder

/// Which names this server answers to.
///
/// A site that lets its own name point to this address could read it from a visitor's browser (DNS rebinding). Such a
/// request names the attacker's host: so only addresses, `localhost`, this machine's name and `--server-name` are
/// answered to.
package struct HostCheck: Sendable {
    private let names: Set<String>

    package init(serverNames: [String], machineName: String? = HostCheck.machineName) {
        names = Set((serverNames + [machineName].compactMap { $0 }).map { $0.lowercased() })
    }

    package func allows(_ authority: String) -> Bool {
        guard let host = Self.host(of: authority) else { return false }
        return host == "localhost" || host.hasSuffix(".localhost") || names.contains(host) || Self.isAddress(host)
    }

    /// Lower case, without port, brackets and the dot at the end; nil where it is none.
    package static func host(of authority: String) -> String? {
        var host = Substring(authority.lowercased())
        if host.hasPrefix("[") {
            guard let end = host.firstIndex(of: "]") else { return nil }
            let rest = host[host.index(after: end)...]
            guard rest.isEmpty || isPort(rest) else { return nil }
            host = host[..<end].dropFirst()
            return isAddress(String(host), families: [AF_INET6]) ? String(host) : nil
        }
        if let colon = host.firstIndex(of: ":") {
            guard isPort(host[colon...]) else { return nil }
            host = host[..<colon]
        }
        if host.hasSuffix(".") { host = host.dropLast() }
        let allowed = host.utf8.allSatisfy {
            switch $0 {
            case 0x30...0x39, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
            default: false
            }
        }
        return host.isEmpty || !allowed ? nil : String(host)
    }

    private static func isPort(_ text: Substring) -> Bool {
        text.first == ":" && text.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) } && text.utf8.count <= 6
    }

    static func isAddress(_ host: String, families: [Int32] = [AF_INET, AF_INET6]) -> Bool {
        var bytes = in6_addr()
        return families.contains { inet_pton($0, host, &bytes) == 1 }
    }

    package static var machineName: String? {
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return nil }
        return buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } }
    }
}
