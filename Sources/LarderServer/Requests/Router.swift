import Larder

/// From a raw request to what it asks for. Pure: no socket, no file, no clock.
///
/// Fixed paths are compared as they were sent, and names of files must be hex digits: there is nothing to traverse,
/// and an encoded slash is no slash.
package struct Router: Sendable {
    /// Checks signed paths; nil where no key is set.
    package var signer: URLSigner?
    /// The formats that this build writes.
    package var encoders: [ImageFormat]

    package init(signer: URLSigner? = nil, encoders: [ImageFormat] = [.jpeg, .png]) {
        self.signer = signer
        self.encoders = encoders
    }

    /// - Throws: a ``Problem`` that says what is wrong: 400, 403, 404, 405, 414.
    package func route(_ method: Request.Method, _ target: RequestTarget) throws(Problem) -> Route {
        switch target.path {
        case "/": return try reading(method, .gallery)
        case "/image": return try reading(method, image(target))
        case "/api/entries": return try reading(method, .entries(EntryListQuery(target.parameters(plusIsSpace: true))))
        case "/api/stats": return try reading(method, .stats)
        case "/healthz": return try reading(method, .health)
        case "/metrics": return try reading(method, .metrics)
        case "/login": return try posting(method, .login)
        case "/logout": return try posting(method, .logout)
        default: break
        }
        if let name = target.path.suffix(behind: "/files/") { return try reading(method, file(name, target)) }
        if let key = target.path.suffix(behind: "/api/entries/") {
            guard let hash = CacheKey.Hash(hex: key) else {
                throw .notFound("'\(key.prefix(40))' is no key: 32 hex digits.")
            }
            return method == .delete ? .removeEntry(hash) : try reading(method, .entry(hash), alsoDelete: true)
        }
        if let route = try thumbor(target) { return try reading(method, route) }
        throw .notFound("There is nothing at \(target.path.prefix(80)).")
    }

    private func reading(
        _ method: Request.Method, _ route: @autoclosure () throws(Problem) -> Route, alsoDelete: Bool = false
    ) throws(Problem) -> Route {
        guard method == .get || method == .head else {
            throw .methodNotAllowed(method, allowed: alsoDelete ? "GET, HEAD, DELETE" : "GET, HEAD")
        }
        return try route()
    }

    private func posting(_ method: Request.Method, _ route: Route) throws(Problem) -> Route {
        guard method == .post else { throw .methodNotAllowed(method, allowed: "POST") }
        return route
    }

    private func image(_ target: RequestTarget) throws(Problem) -> Route {
        var parameters = try target.parameters()
        guard let index = parameters.firstIndex(where: { $0.name == "url" }), !parameters[index].value.isEmpty else {
            throw .badRequest("The parameter 'url' is missing: /image?url=https%3A%2F%2Fexample.com%2Fa.jpg")
        }
        let url = parameters.remove(at: index).value
        return .image(url: url, try Transformation(imgix: parameters, encoders: encoders), .request)
    }

    /// `ab/cdef…`, with or without an extension.
    private func file(_ name: Substring, _ target: RequestTarget) throws(Problem) -> Route {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.count == 2,
            let hash = CacheKey.Hash(hex: parts[0] + parts[1].prefix { $0 != "." })
        else { throw .notFound("There is no such file: the names are those of reports, such as /files/ab/cdef….jpg.") }
        return .file(hash, try Transformation(imgix: target.parameters(), encoders: encoders))
    }

    /// `/unsafe/…` and `/SIGNATURE/…`; nil for what is neither.
    private func thumbor(_ target: RequestTarget) throws(Problem) -> Route? {
        guard let slash = target.path.dropFirst().firstIndex(of: "/") else { return nil }
        let first = target.path[..<slash].dropFirst()
        let rest = target.path[target.path.index(after: slash)...] + (target.query.map { "?" + $0 } ?? "")
        let authority: Route.Authority
        var path = String(rest)
        if first == "unsafe" {
            if signer != nil {
                throw Problem(403, "signature_required", "This server has a key: sign the path in place of /unsafe/.")
            }
            authority = .unsafe
        } else if URLSigner.isSignature(first) {
            guard let signer else {
                throw Problem(
                    403, "no_key", "This server has no key, and cannot check signatures. Start it with --key-file.")
            }
            // Some clients encode what they have signed: the text that was signed is also the one that counts.
            guard
                let signed = [path, path.percentDecoded].compactMap({ $0 }).first(where: {
                    signer.verifies(first.percentDecoded ?? String(first), of: $0)
                })
            else { throw Problem(403, "bad_signature", "The signature does not fit the path.") }
            path = signed
            authority = .signature
        } else {
            return nil
        }
        let parsed = try ThumborPath(path, encoders: encoders)
        return .image(url: parsed.url, parsed.transformation, authority)
    }
}

extension String {
    fileprivate func suffix(behind prefix: String) -> Substring? { hasPrefix(prefix) ? dropFirst(prefix.count) : nil }
}
