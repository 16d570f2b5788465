import Glibc

/// Which network addresses may be connected to.
///
/// What is refused under ``publicOnly`` follows IANA's registries of special-purpose addresses (RFC 6890 and its
/// successors): whatever is not globally reachable, and whatever carries such an IPv4 address inside IPv6.
public enum AddressPolicy: Sendable, Hashable {
    /// Every address. The default.
    case any
    /// Only public addresses: no loopback, private, link-local, CGNAT, multicast, reserved, nor IPv4 forms of
    /// these inside IPv6.
    case publicOnly

    /// Whether an address may be connected to: 4 bytes of IPv4 or 16 of IPv6 in network order. Anything else is
    /// refused under ``publicOnly``.
    public func permits(_ address: some Collection<UInt8>) -> Bool {
        guard self == .publicOnly else { return true }
        let bytes = Array(address)
        switch bytes.count {
        case 4: return Self.isPublic(v4: bytes[...])
        case 16: return Self.isPublic(v6: bytes)
        default: return false
        }
    }

    /// Whether a socket address may be connected to. Families other than IPv4 and IPv6 are refused under
    /// ``publicOnly``.
    package func permits(_ address: UnsafePointer<sockaddr>) -> Bool {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin_addr) { permits($0) }
            }
        case AF_INET6:
            return address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin6_addr) { permits($0) }
            }
        default: return self == .any
        }
    }

    // MARK: - Ranges

    /// Networks that are not globally reachable: the first bytes and the length of the prefix in bits.
    private static let closedV4: [([UInt8], Int)] = [
        ([0], 8),  // this network
        ([10], 8), ([172, 16], 12), ([192, 168], 16),  // private
        ([100, 64], 10),  // CGNAT
        ([127], 8),  // loopback
        ([169, 254], 16),  // link-local, cloud metadata
        ([192, 0, 0], 24),  // protocol assignments
        ([192, 0, 2], 24), ([198, 51, 100], 24), ([203, 0, 113], 24),  // documentation
        ([192, 31, 196], 24), ([192, 52, 193], 24), ([192, 175, 48], 24),  // AS112, AMT
        ([192, 88, 99], 24),  // 6to4 relays
        ([198, 18], 15),  // benchmarking
        ([224], 4), ([240], 4),  // multicast, reserved, broadcast
    ]

    private static let closedV6: [([UInt8], Int)] = [
        ([0x01, 0x00, 0, 0, 0, 0, 0, 0], 64),  // discard
        ([0x20, 0x01, 0x00], 23),  // protocol assignments: Teredo, ORCHID, benchmarking …
        ([0x20, 0x01, 0x0D, 0xB8], 32), ([0x3F, 0xFF, 0x00], 20),  // documentation
        ([0x5F, 0x00], 16),  // segment routing
        ([0xFC], 7),  // unique local
        ([0xFE, 0x80], 9),  // link-local, site-local
        ([0xFF], 8),  // multicast
    ]

    private static func isPublic(v4: ArraySlice<UInt8>) -> Bool {
        !closedV4.contains { v4.hasPrefix($0.0[...], bits: $0.1) }
    }

    private static func isPublic(v6: [UInt8]) -> Bool {
        // Only 2000::/3 is given out, and 64:ff9b::/96 beside it.
        if v6.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return isPublic(v4: v6[12...]) }  // NAT64
        if v6.starts(with: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]) { return isPublic(v4: v6[12...]) }  // mapped
        guard v6[0] & 0xE0 == 0x20 else { return false }  // among them ::, ::1, compatible, translated, 64:ff9b:1::/48
        if v6.starts(with: [0x20, 0x02]) { return isPublic(v4: v6[2..<6]) }  // 6to4
        return !closedV6.contains { v6[...].hasPrefix($0.0[...], bits: $0.1) }
    }
}

extension ArraySlice<UInt8> {
    /// Whether the first `bits` bits are those of `prefix`, which may leave out zero bytes at its end.
    fileprivate func hasPrefix(_ prefix: ArraySlice<UInt8>, bits: Int) -> Bool {
        for offset in 0..<((bits + 7) / 8) {
            let mask = UInt8(truncatingIfNeeded: 0xFF << Swift.max(0, 8 * (offset + 1) - bits))
            let wanted = offset < prefix.count ? prefix[prefix.startIndex + offset] : 0
            if (self[startIndex + offset] ^ wanted) & mask != 0 { return false }
        }
        return true
    }
}
