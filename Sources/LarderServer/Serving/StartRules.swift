import Larder

/// What a server may not be started as, and why. Checked before anything listens.
package struct StartRules: Sendable {
    /// Whether other machines can reach one of the sockets.
    package var isReachable: Bool
    package var hasToken: Bool
    package var hasKey: Bool
    package var fetches: Bool
    package var hasAllowedHosts: Bool
    package var isPublicOnly: Bool
    /// Whether the transport sees, and so can refuse, the address that it connects to.
    package var transportChecksAddresses: Bool

    package init(
        isReachable: Bool, hasToken: Bool, hasKey: Bool, fetches: Bool, hasAllowedHosts: Bool, isPublicOnly: Bool,
        transportChecksAddresses: Bool
    ) {
        self.isReachable = isReachable
        self.hasToken = hasToken
        self.hasKey = hasKey
        self.fetches = fetches
        self.hasAllowedHosts = hasAllowedHosts
        self.isPublicOnly = isPublicOnly
        self.transportChecksAddresses = transportChecksAddresses
    }

    package struct Refusal: Error, Sendable, Hashable {
        package var message: String
        package var hint: String
    }

    package func check() throws(Refusal) {
        if isReachable, !hasToken, !hasKey {
            throw Refusal(
                message: "other machines can reach this address, so a token or a key is needed",
                hint: "Give --token-file FILE or --key-file FILE, or listen on 127.0.0.1.")
        }
        guard fetches else { return }
        guard hasAllowedHosts || isPublicOnly else {
            throw Refusal(
                message: "--fetch would let clients reach whatever this machine can reach",
                hint: "Name the hosts with --allow-host PATTERN, or give --public-only.")
        }
        if isPublicOnly, !hasAllowedHosts, !transportChecksAddresses {
            throw Refusal(
                message: "--public-only cannot be kept: this transport does not show the address it connects to",
                hint: "Name the hosts with --allow-host PATTERN, or use --transport curl.")
        }
    }
}
