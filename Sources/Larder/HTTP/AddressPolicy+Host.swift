import Glibc

extension AddressPolicy {
    /// The address that a URL's host is written as, or nil where it is a name.
    ///
    /// IPv6 without its brackets, and every spelling of IPv4 that `inet_aton` and browsers read: `127.1`,
    /// `0x7f000001`, `2130706433`.
    package static func literal(_ host: some StringProtocol) -> [UInt8]? {
        // Most hosts are names: an address begins with a digit or has a colon.
        guard let first = host.utf8.first, (0x30...0x39).contains(first) || host.utf8.contains(0x3A) else { return nil }
        var text = String(host)
        if text.hasPrefix("["), text.hasSuffix("]") { text = String(text.dropFirst().dropLast()) }
        if let zone = text.firstIndex(of: "%") { text = String(text[..<zone]) }
        var v6 = in6_addr()
        if inet_pton(AF_INET6, text, &v6) == 1 { return withUnsafeBytes(of: v6) { Array($0) } }
        if text.hasSuffix(".") { text.removeLast() }
        var v4 = in_addr()
        // `inet_aton` accepts trailing words after white space.
        guard !text.contains(where: \.isWhitespace), inet_aton(text, &v4) != 0 else { return nil }
        return withUnsafeBytes(of: v4) { Array($0) }
    }

    /// Looks the host up and refuses it where any of its addresses is not permitted. Blocks.
    ///
    /// Whoever connects afterwards looks it up again: this stops mistakes and most attacks, not a name server that
    /// changes its answer in between (DNS rebinding).
    ///
    /// - Throws: ``ImageError/refused(_:_:)`` with `.address`; ``ImageError/unreachable(_:)`` where there is no such
    ///   host.
    package func check(host: String) throws(ImageError) {
        guard self != .any else { return }
        if let address = Self.literal(host) {
            guard permits(address) else { throw .refused(.address, .init("\(host) is not a public address")) }
            return
        }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        let result = getaddrinfo(host, nil, &hints, &list)
        guard result == 0 else {
            throw .unreachable(.init("\(host): \(String(cString: gai_strerror(result)))"))
        }
        defer { freeaddrinfo(list) }
        var next = list
        while let info = next {
            guard let address = info.pointee.ai_addr, permits(address) else {
                throw .refused(.address, .init("\(host) has an address that is not public"))
            }
            next = info.pointee.ai_next
        }
    }
}
