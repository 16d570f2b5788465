import Foundation

/// An http or https URL in the one form under which it is requested, cached and reported.
///
/// Scheme and host are in lower case, a host of other scripts is in Punycode, numbers that stand for an IPv4 address
/// are written as one, the scheme's own port is left out, dot segments are removed, an empty path is `/`. User name,
/// password and fragment are gone. What a URL may not carry is percent-encoded once; what is encoded already stays as
/// it was, byte for byte (`%3A` is no `:`), a `+` too. A `%` that begins no encoding is sent as `%25`, its only
/// well-formed spelling, and so still means a percent sign.
package struct NormalizedURL: Sendable, Hashable, CustomStringConvertible {
    /// The URL as text: ASCII only, and unchanged by another normalisation.
    package let string: String
    package let isSecure: Bool
    /// The port that is connected to: 80 or 443 where the URL names none.
    package let port: Int
    /// The host's place in `string`, with the brackets of an IPv6 address.
    private let hostStart: Int
    private let hostEnd: Int
    /// What it was made from, where that says the same: Foundation need not parse it again.
    private var parsed: URL?

    /// - Throws: ``ImageError/invalidURL(_:)`` or, for a scheme other than http and https,
    ///   ``ImageError/refused(_:_:)``, with what to do about it.
    package init(_ text: String) throws(ImageError) {
        var text = text
        // The usual URL is normal already: one look at its bytes, and no copy.
        if let plain = text.withUTF8(Self.plain) {
            string = text
            (isSecure, hostStart, hostEnd) = (plain.hostStart == 8, plain.hostStart, plain.hostEnd)
            port = plain.port
            return
        }
        var parser = URLNormalizer(Array(text.utf8))
        do throws(URLNormalizer.Fault) {
            let parts = try parser.normalize()
            string = String(decoding: parts.bytes, as: UTF8.self)
            (isSecure, port, hostStart, hostEnd) = (parts.isSecure, parts.port, parts.hostStart, parts.hostEnd)
        } catch {
            throw error.imageError
        }
    }

    package init(_ url: URL) throws(ImageError) {
        let text = url.absoluteString
        try self.init(text)
        if text == string, url.baseURL == nil { parsed = url }
    }

    /// As it stands in the URL: Punycode, an address in canonical form, IPv6 in brackets.
    package var host: String {
        String(decoding: string.utf8.dropFirst(hostStart).prefix(hostEnd - hostStart), as: UTF8.self)
    }

    /// `https://example.com:8443`: what credentials and `robots.txt` belong to (RFC 6454).
    package var origin: String {
        let authority = string.utf8.prefix(hostEnd)
        let isDefault = port == (isSecure ? 443 : 80)
        return String(decoding: authority, as: UTF8.self) + (isDefault ? "" : ":\(port)")
    }

    /// Path and query: what a request line carries.
    package var target: Substring {
        let start = string.utf8.dropFirst(hostEnd).firstIndex(of: UInt8(ascii: "/")) ?? string.endIndex
        return string[start...]
    }

    /// - Throws: ``ImageError/invalidURL(_:)`` where Foundation reads the text differently; none is known.
    package func url() throws(ImageError) -> URL {
        if let parsed { return parsed }
        guard let url = URL(string: string), url.absoluteString == string else {
            throw .invalidURL(.init("Foundation cannot represent this URL", url: string))
        }
        return url
    }

    package var description: String { string }

    package static func == (left: NormalizedURL, right: NormalizedURL) -> Bool { left.string == right.string }
    package func hash(into hasher: inout Hasher) { hasher.combine(string) }

    /// Where the host begins and ends, and the port, for a URL that is in normal form as it stands; nil means: look
    /// closer.
    private static func plain(_ bytes: UnsafeBufferPointer<UInt8>) -> (hostStart: Int, hostEnd: Int, port: Int)? {
        guard bytes.count <= URLNormalizer.maxLength else { return nil }
        let hostStart: Int
        if bytes.starts(with: "https://".utf8) {
            hostStart = 8
        } else if bytes.starts(with: "http://".utf8) {
            hostStart = 7
        } else {
            return nil
        }
        var at = hostStart
        while at < bytes.count, URLNormalizer.isPlainHost(bytes[at]) { at += 1 }
        let hostEnd = at
        let host = UnsafeBufferPointer(rebasing: bytes[hostStart..<hostEnd])
        guard isPlainName(host) || isPlainAddress(host) else { return nil }
        var port = hostStart == 8 ? 443 : 80
        if at < bytes.count, bytes[at] == UInt8(ascii: ":") {
            let standard = port
            at += 1
            guard let number = plainNumber(bytes, &at, limit: 65_535), number > 0, number != standard else {
                return nil
            }
            port = number
        }
        guard isPlainTarget(UnsafeBufferPointer(rebasing: bytes[at...])) else { return nil }
        return (hostStart, hostEnd, port)
    }

    /// Whether labels are separated by single dots and the last stands between letters, so that it is no number.
    /// Longer hosts are measured label by label, elsewhere.
    private static func isPlainName(_ host: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let last = host.last, URLNormalizer.isLetter(last), host.count <= 63 else { return false }
        var label = 0
        for at in host.indices where host[at] == UInt8(ascii: ".") {
            if at == label { return false }
            label = at + 1
        }
        return URLNormalizer.isLetter(host[label])
    }

    /// Whether it is an IPv4 address as it is always written: four decimal numbers without leading zeros.
    private static func isPlainAddress(_ host: UnsafeBufferPointer<UInt8>) -> Bool {
        var at = 0
        for part in 0..<4 {
            if part > 0 {
                guard at < host.count, host[at] == UInt8(ascii: ".") else { return false }
                at += 1
            }
            guard plainNumber(host, &at, limit: 255) != nil else { return false }
        }
        return at == host.count
    }

    /// A decimal number without leading zeros, up to `limit`.
    private static func plainNumber(_ bytes: UnsafeBufferPointer<UInt8>, _ at: inout Int, limit: Int) -> Int? {
        let start = at
        var number = 0
        while at < bytes.count, bytes[at] >= 48, bytes[at] <= 57 {
            number = number * 10 + Int(bytes[at] - 48)
            guard number <= limit else { return nil }
            at += 1
        }
        return at > start && (bytes[start] != 48 || at == start + 1) ? number : nil
    }

    private static func isPlainTarget(_ target: UnsafeBufferPointer<UInt8>) -> Bool {
        guard target.first == UInt8(ascii: "/") else { return false }
        var inQuery = false
        var previous = UInt8(ascii: "/")
        for at in target.indices {
            let byte = target[at]
            guard URLNormalizer.isPlain(byte) else { return false }
            if byte == UInt8(ascii: "?") { inQuery = true }
            if byte == UInt8(ascii: "."), previous == UInt8(ascii: "/"), !inQuery { return false }
            if byte == UInt8(ascii: "%"), !URLNormalizer.isEscape(target, at) { return false }
            previous = byte
        }
        return true
    }
}
