import Foundation
import Glibc

/// The long way to a ``NormalizedURL``: RFC 3986 in the reading that browsers and curl share.
struct URLNormalizer {
    /// Bytes of a URL as given. Longer ones are no URLs of images.
    static let maxLength = 16_384

    enum Fault: Error {
        case invalid(String, url: String?)
        case scheme(String, url: String?)

        var imageError: ImageError {
            switch self {
            case .invalid(let detail, let url): .invalidURL(.init(detail, url: url))
            case .scheme(let scheme, let url):
                .refused(.scheme, .init("\(scheme): is not fetched; only http: and https: are", url: url))
            }
        }
    }

    struct Parts {
        var bytes: [UInt8]
        var isSecure: Bool
        var port: Int
        var hostStart: Int
        var hostEnd: Int
    }

    private let input: [UInt8]
    private var at = 0

    init(_ text: [UInt8]) {
        // Manifests and copied text bring white space around a URL; it is never part of one.
        let isSpace = { (byte: UInt8) in byte <= 0x20 }
        input = Array(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }

    mutating func normalize() throws(Fault) -> Parts {
        guard input.count <= Self.maxLength else { throw .invalid("longer than \(Self.maxLength) bytes", url: nil) }
        guard let control = input.firstIndex(where: { $0 < 0x20 || $0 == 0x7F }) else {
            return try parts()
        }
        throw .invalid("a control character stands at byte \(control + 1)", url: nil)
    }

    private mutating func parts() throws(Fault) -> Parts {
        let scheme = try scheme()
        let isSecure = scheme == "https"
        let end = input[at...].firstIndex { "/?#".utf8.contains($0) } ?? input.endIndex
        // User info ends at the last @: what stands before it is never sent, stored or logged.
        let hostStart = input[at..<end].lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? at
        let (host, port) = try hostAndPort(input[hostStart..<end], defaultPort: isSecure ? 443 : 80)
        at = end

        var bytes = Array((isSecure ? "https://" : "http://").utf8)
        let start = bytes.count
        bytes += host
        let hostEnd = bytes.count
        if port != (isSecure ? 443 : 80) { bytes += ":\(port)".utf8 }
        let queryStart = input[at...].firstIndex { "?#".utf8.contains($0) } ?? input.endIndex
        bytes += Self.withoutDotSegments(Self.encoded(input[at..<queryStart]))
        if queryStart < input.count, input[queryStart] == UInt8(ascii: "?") {
            let fragment = input[queryStart...].firstIndex(of: UInt8(ascii: "#")) ?? input.endIndex
            bytes += Self.encoded(input[queryStart..<fragment])
        }
        return Parts(bytes: bytes, isSecure: isSecure, port: port, hostStart: start, hostEnd: hostEnd)
    }

    /// `http` or `https`, and skips `://`.
    private mutating func scheme() throws(Fault) -> String {
        let isScheme = { (byte: UInt8) in Self.isAlphanumeric(byte) || "+-.".utf8.contains(byte) }
        let end = input.firstIndex { !isScheme($0) } ?? input.endIndex
        guard end < input.count, input[end] == UInt8(ascii: ":"), let first = input.first, Self.isLetter(first | 0x20)
        else {
            throw .invalid(
                input.isEmpty ? "the URL is empty" : "no scheme: write it with https:// or http:// in front", url: shown
            )
        }
        let scheme = String(decoding: input[..<end], as: UTF8.self).lowercased()
        guard scheme == "http" || scheme == "https" else {
            // `example.com:8080/a.png` looks like a scheme too.
            if scheme.contains("."), !input[end...].starts(with: "://".utf8) {
                throw .invalid("no scheme: write it with https:// or http:// in front", url: shown)
            }
            throw .scheme(scheme, url: scheme == "data" ? nil : shown)
        }
        guard input[end...].starts(with: "://".utf8) else {
            throw .invalid("\(scheme): is not followed by //", url: shown)
        }
        at = end + 3
        return scheme
    }

    /// The input for an error's `url`, without user info, cut to a readable length.
    private var shown: String {
        let slashes = input.indices.first { input[$0...].starts(with: "//".utf8) }
        guard let slashes else { return String(decoding: input.prefix(512), as: UTF8.self) }
        let end = input[(slashes + 2)...].firstIndex { "/?#".utf8.contains($0) } ?? input.endIndex
        let host = input[(slashes + 2)..<end].lastIndex(of: UInt8(ascii: "@")).map { $0 + 1 } ?? slashes + 2
        return String(decoding: (input[..<(slashes + 2)] + input[host...]).prefix(512), as: UTF8.self)
    }

    // MARK: Host

    private func hostAndPort(
        _ authority: ArraySlice<UInt8>, defaultPort: Int
    ) throws(Fault) -> (host: [UInt8], port: Int) {
        if authority.first == UInt8(ascii: "[") {
            guard let close = authority.firstIndex(of: UInt8(ascii: "]")),
                let address = Self.canonicalIPv6(authority[(authority.startIndex + 1)..<close])
            else { throw .invalid("the address in brackets is no IPv6 address", url: shown) }
            let rest = authority[(close + 1)...]
            guard rest.isEmpty || rest.first == UInt8(ascii: ":") else {
                throw .invalid("something stands between ] and the path", url: shown)
            }
            return (Array("[\(address)]".utf8), try port(rest.dropFirst(), defaultPort))
        }
        let colon = authority.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
        return (try name(authority[..<colon]), try port(authority[colon...].dropFirst(), defaultPort))
    }

    private func port(_ digits: ArraySlice<UInt8>, _ defaultPort: Int) throws(Fault) -> Int {
        guard !digits.isEmpty else { return defaultPort }
        guard let port = FieldReader.deltaSeconds(String(decoding: digits, as: UTF8.self)), (1...65_535).contains(port)
        else { throw .invalid("the port is no number from 1 to 65535", url: shown) }
        return Int(port)
    }

    private func name(_ raw: ArraySlice<UInt8>) throws(Fault) -> [UInt8] {
        guard !raw.isEmpty else { throw .invalid("the host is missing", url: shown) }
        var host = raw.map { $0 >= 65 && $0 <= 90 ? $0 | 0x20 : $0 }
        if host.contains(where: { $0 >= 0x80 || $0 == UInt8(ascii: "%") }) { host = try punycode(host) }
        guard host.allSatisfy({ Self.isPlainHost($0) || $0 == UInt8(ascii: "_") }) else {
            throw .invalid("the host has a character that no host name has", url: shown)
        }
        let labels = host.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        // A single dot at the end marks the root and is kept.
        let named = labels.count > 1 && labels.last?.isEmpty == true ? labels.dropLast() : labels[...]
        guard host.count <= 254, named.allSatisfy({ !$0.isEmpty && $0.count <= 63 }) else {
            throw .invalid("the host has an empty or overlong part", url: shown)
        }
        guard let last = named.last, Self.isNumber(last) else { return host }
        guard let address = Self.canonicalIPv4(named) else {
            throw .invalid("the host ends in a number but is no IPv4 address", url: shown)
        }
        return Array(address.utf8)
    }

    /// Percent-decoded and by UTS 46, as Foundation does it.
    private func punycode(_ host: [UInt8]) throws(Fault) -> [UInt8] {
        let decoded = String(decoding: host, as: UTF8.self).removingPercentEncoding
        let plain = decoded.map { text in text.utf8.allSatisfy { $0 > 0x20 && !"/?#@:[]\\%\"<>^`{|}".utf8.contains($0) }
        }
        guard let decoded, plain == true,
            let converted = URL(string: "http://\(decoded)/")?.host(percentEncoded: false),
            converted.utf8.allSatisfy({ $0 < 0x80 })
        else { throw .invalid("the host is no valid international name", url: shown) }
        return Array(converted.lowercased().utf8)
    }

    private static func isNumber(_ label: ArraySlice<UInt8>) -> Bool {
        label.allSatisfy { $0 >= 48 && $0 <= 57 }
            || label.starts(with: "0x".utf8) && label.dropFirst(2).allSatisfy { hexValue($0) != nil }
    }

    /// `127.1`, `0x7f000001`, `017700000001` and the like, as `127.0.0.1`: what resolvers make of them, so that a
    /// policy on addresses sees it.
    private static func canonicalIPv4(_ labels: ArraySlice<ArraySlice<UInt8>>) -> String? {
        guard labels.count <= 4 else { return nil }
        var address: UInt64 = 0
        for (index, label) in labels.enumerated() {
            let isHex = label.starts(with: "0x".utf8)
            let isOctal = !isHex && label.count > 1 && label.first == UInt8(ascii: "0")
            let digits = String(decoding: isHex ? label.dropFirst(2) : label, as: UTF8.self)
            guard digits.utf8.allSatisfy({ hexValue($0) != nil }),
                let value = digits.isEmpty ? 0 : UInt64(digits, radix: isHex ? 16 : isOctal ? 8 : 10)
            else { return nil }
            let isLast = index == labels.count - 1
            let room = isLast ? 8 * (4 - index) : 8
            guard value < 1 << room else { return nil }
            address = address << room | value
        }
        return [24, 16, 8, 0].map { String(address >> $0 & 255) }.joined(separator: ".")
    }

    private static func canonicalIPv6(_ text: ArraySlice<UInt8>) -> String? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, String(decoding: text, as: UTF8.self), &address) == 1 else { return nil }
        var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &address, &buffer, socklen_t(buffer.count)) != nil else { return nil }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    // MARK: Path and query

    private static func encoded(_ part: ArraySlice<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(part.count)
        let digits = Array("0123456789ABCDEF".utf8)
        for index in part.indices {
            let byte = part[index]
            if byte == UInt8(ascii: "%")
                ? part.withUnsafeBufferPointer({ isEscape($0, index - part.startIndex) }) : isPlain(byte)
            {
                bytes.append(byte)
            } else {
                bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return bytes
    }

    /// RFC 3986 §5.2.4 on an absolute or empty path.
    private static func withoutDotSegments(_ path: [UInt8]) -> [UInt8] {
        var kept: [ArraySlice<UInt8>] = []
        let segments = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).dropFirst()
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            if segment.elementsEqual("..".utf8) {
                _ = kept.popLast()
                if isLast { kept.append([]) }
            } else if segment.elementsEqual(".".utf8) {
                if isLast { kept.append([]) }
            } else {
                kept.append(segment)
            }
        }
        if kept.isEmpty { return [UInt8(ascii: "/")] }
        return kept.flatMap { [UInt8(ascii: "/")] + $0 }
    }

    // MARK: Bytes

    static func isLetter(_ byte: UInt8) -> Bool { byte >= 97 && byte <= 122 }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        isLetter(byte | 0x20) || (byte >= 48 && byte <= 57)
    }

    /// Lower-case letters, digits, `-` and `.`.
    static func isPlainHost(_ byte: UInt8) -> Bool {
        isLetter(byte) || (byte >= 45 && byte <= 57 && byte != 47)
    }

    private static let plainBytes: [Bool] = (0..<256).map { byte in
        isAlphanumeric(UInt8(byte)) || "-._~!$&'()*+,;=:@/?%".utf8.contains(UInt8(byte))
    }

    /// What path and query carry as it is: `pchar`, `/`, `?`, and `%` (RFC 3986 §3.3, §3.4).
    static func isPlain(_ byte: UInt8) -> Bool { plainBytes[Int(byte)] }

    /// Whether `%` at `index` begins an encoding.
    static func isEscape(_ bytes: UnsafeBufferPointer<UInt8>, _ index: Int) -> Bool {
        index + 2 < bytes.count && hexValue(bytes[index + 1]) != nil && hexValue(bytes[index + 2]) != nil
    }

    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 48...57: byte - 48
        case 65...70: byte - 55
        case 97...102: byte - 87
        default: nil
        }
    }
}
