/// Which network addresses may be connected to.
public enum AddressPolicy: Sendable, Hashable {
    /// Every address. The default.
    case any
    /// Only public addresses: no loopback, private, link-local, CGNAT, multicast, reserved, nor IPv4 forms of
    /// these inside IPv6.
    case publicOnly
}
