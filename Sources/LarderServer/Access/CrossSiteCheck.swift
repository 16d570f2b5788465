import Larder

/// Keeps pages of other sites from using this server through a visitor's browser.
///
/// A browser sends requests that a foreign page makes, and only withholds the answers. That alone would let such a page
/// have images fetched and thumbnails made, or tell by the time an answer takes what its visitor has looked at. Browsers
/// say where a request comes from (Fetch Metadata); programs do not, and are not meant.
package enum CrossSiteCheck {
    /// - Throws: 403 for what a page of another site asks for, except following a link and signed paths, which the
    ///   holder of the key has handed out to be shown anywhere.
    package static func check(_ route: Route, _ request: Request, host: String?) throws(Problem) {
        switch route {
        case .image(_, _, .signature), .health: return
        case .login, .logout:
            guard isOwn(request.fields["Origin"], host) else { throw refusal }
        default: break
        }
        guard request.fields["Sec-Fetch-Site"] == "cross-site" else { return }
        let isLink = request.fields["Sec-Fetch-Mode"] == "navigate" && request.fields["Sec-Fetch-Dest"] == "document"
        guard isLink, request.method == .get || request.method == .head else { throw refusal }
    }

    private static var refusal: Problem {
        Problem(
            403, "cross_site",
            "A page of another site has asked for this. What other sites shall show needs a signed path (--key-file).")
    }

    /// Whether a POST comes from our own page, or from no page at all. Ports may differ: a proxy need not pass ours on.
    private static func isOwn(_ origin: String?, _ host: String?) -> Bool {
        guard let origin else { return true }
        guard let host, let scheme = ["http://", "https://"].first(where: { origin.hasPrefix($0) }),
            let name = HostCheck.host(of: String(origin.dropFirst(scheme.count)))
        else { return false }
        return name == HostCheck.host(of: host)
    }
}
