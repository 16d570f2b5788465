import Foundation

/// Where a redirect leads, and whether it may be followed (RFC 9110 §15.4, RFC 3986 §5).
public struct RedirectPolicy: Sendable, Hashable {
    /// Hops of one request; one more ends it. 20 by default, as in browsers and curl's users' habits; 0 for none.
    public var maxHops: Int
    /// Whether https may lead to http. False by default: what was asked for over a protected connection is not
    /// fetched over an open one unless somebody says so.
    public var allowsDowngrade: Bool

    /// For who forwards responses: redirects are answers like others, and none is followed.
    package var handsOn = false

    /// What is not given has its default.
    public init(maxHops: Int = 20, allowsDowngrade: Bool = false) {
        self.maxHops = maxHops
        self.allowsDowngrade = allowsDowngrade
    }

    private static let statuses: Set<Int> = [301, 302, 303, 307, 308]

    /// The next request, or nil where the response is final: no redirect, or one without a `Location`.
    ///
    /// - Throws: ``ImageError/refused(_:_:)`` where it leads to where we do not go; ``ImageError/invalidURL(_:)``
    ///   where its `Location` is no URL.
    package func next(
        after request: TransportRequest, status: Int, fields: HTTPFields
    ) throws(ImageError) -> TransportRequest? {
        // Of several (an error of the server) the first counts, as in browsers.
        guard !handsOn, Self.statuses.contains(status), let location = fields.first("Location") else {
            return nil
        }
        guard let target = request.url.resolving(reference: location) else {
            throw .invalidURL(.init("a redirect to '\(location)', which is no URL"))
        }
        let scheme = target.scheme?.lowercased() ?? ""
        guard ["http", "https"].contains(scheme) else {
            throw .refused(.scheme, .init("a redirect to \(scheme): only http and https are followed"))
        }
        guard let host = target.host, !host.isEmpty else {
            throw .invalidURL(.init("a redirect to '\(location)', which has no host"))
        }
        if !allowsDowngrade, scheme == "http", request.url.scheme?.lowercased() == "https" {
            throw .refused(.redirect, .init("a redirect from https to http"))
        }
        var next = request
        next.url = target
        if status == 303 && request.method != "HEAD" || status < 303 && request.method == "POST" {
            next.method = "GET"
            next.body = []
            next.fields["Content-Type"] = nil
        }
        if !target.hasSameOrigin(as: request.url) {
            next.fields.fields.removeAll { Credentials.isCredential($0.name) }
        }
        return next
    }
}

extension URL {
    /// Scheme, host and port are the same (RFC 6454 §5).
    package func hasSameOrigin(as other: URL) -> Bool {
        scheme?.lowercased() == other.scheme?.lowercased() && host?.lowercased() == other.host?.lowercased()
            && effectivePort == other.effectivePort
    }

    /// The port, or that of the scheme where none is written.
    package var effectivePort: Int? {
        port ?? ["http": 80, "https": 443][scheme?.lowercased() ?? ""]
    }

    /// Whether the port, where one is written, is one: Foundation reads a number that is too large as none.
    package var hasUsablePort: Bool {
        if let port { return port > 0 && port <= UInt16.max }
        // None is written, or it is no number that Foundation takes.
        guard let components = URLComponents(url: self, resolvingAgainstBaseURL: true),
            let range = components.rangeOfPort, let text = components.string?[range], !text.isEmpty
        else { return true }
        return UInt16(text).map { $0 > 0 } ?? false
    }

    /// What a reference in a response to this URL means, without user info and fragment, or nil where it is no URL.
    ///
    /// Characters that may not stand in a URL are percent-encoded (as UTF-8), percent-encodings stay as they are.
    package func resolving(reference: String) -> URL? {
        let encoded = String(decoding: reference.utf8.trimmingControls.flatMap(\.asURLBytes), as: UTF8.self)
        // What is left to encode is a `%` that encodes nothing, and a host in other letters (IDN).
        // An empty reference means this URL (RFC 3986 §5.2.2); Foundation reads it as none.
        let target = encoded.isEmpty ? self : URL(string: encoded, relativeTo: self)?.absoluteURL
        guard let target, target.hasUsablePort,
            var components = URLComponents(url: target, resolvingAgainstBaseURL: true)
        else { return nil }
        components.user = nil
        components.password = nil
        components.fragment = nil
        return components.url
    }
}

extension String.UTF8View {
    /// Without white space and controls at both ends.
    fileprivate var trimmingControls: SubSequence {
        let start = firstIndex { $0 > 0x20 } ?? endIndex
        guard let last = lastIndex(where: { $0 > 0x20 }) else { return self[endIndex...] }
        return self[start...last]
    }
}

extension UInt8 {
    /// The byte, percent-encoded where it is ASCII that may not stand in a URL (RFC 3986 §2).
    fileprivate var asURLBytes: [UInt8] {
        switch self {
        case 0...0x20, 0x7F, 0x22, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B, 0x7C, 0x7D:
            let digits = Array("0123456789ABCDEF".utf8)
            return [0x25, digits[Int(self >> 4)], digits[Int(self & 15)]]
        default: return [self]
        }
    }
}
