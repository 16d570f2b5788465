import Foundation
import Larder

extension HostileCase {
    private static func status(_ status: Int, _ fields: [(String, String)] = [], body: [UInt8] = image) -> HostileCase {
        let extra = fields.map { " with \($0.0): \($0.1)" }.joined()
        return HostileCase("status \(status)\(extra)", .failure("http_status")) {
            $0.on("/image", .status(status, fields, body: body))
        }
    }

    static let statuses: [HostileCase] = [
        HostileCase("100 and 103 first", .image) {
            let interim = Array("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".utf8)
            $0.on(
                "/image",
                OriginReply([.send(interim + OriginReply.head(200, [("Content-Length", String(image.count))]) + image)])
            )
        },
        HostileCase("101 unasked", .failure("unreachable")) {
            $0.on(
                "/image",
                OriginReply([.send(OriginReply.head(101, [("Upgrade", "x"), ("Connection", "upgrade")])), .hold]))
        },
        status(204), status(205), status(206, [("Content-Range", "bytes 0-67/100")]), status(304), status(300),
        status(400),
        status(401, [("WWW-Authenticate", "Basic realm=\"x\"")]),
        status(401, [("WWW-Authenticate", "Digest realm=\"x\", nonce=\"n\", qop=\"auth\"")]),
        status(401, [("WWW-Authenticate", "Negotiate")]), status(401), status(403), status(404),
        status(407, [("Proxy-Authenticate", "Basic realm=\"x\"")]), status(410), status(418),
        status(429, [("Retry-After", "7")]), status(429, [("Retry-After", "Fri, 31 Dec 2100 23:59:59 GMT")]),
        status(503, [("Retry-After", "99999999999999999999")]), status(503, [("Retry-After", "soon")]),
        status(500), status(599), status(999),
    ]

    private static func redirect(
        _ name: String, _ location: String, answer target: String, _ outcome: Outcome = .image,
        exceptions: [String: Outcome] = [:]
    ) -> HostileCase {
        HostileCase("a redirect: \(name)", outcome, exceptions: exceptions) { origin in
            origin.on("/image", .redirect("/deep/er/start?old=1"))
            origin.on("/deep/er/start?old=1", .redirect(location.replacing("{port}", with: String(origin.port))))
            origin.on(target, .ok(image))
        }
    }

    static let redirects: [HostileCase] = [
        redirect("relative", "c.png", answer: "/deep/er/c.png"),
        redirect("relative, upwards", "../z.png", answer: "/deep/z.png"),
        redirect("beyond the root", "../../../../z.png", answer: "/z.png"),
        redirect("without a scheme", "//127.0.0.1:{port}/x", answer: "/x"),
        HostileCase("a redirect: without a scheme, to an IPv6 address", .failure("unreachable"), endsURLSession: true) {
            $0.on("/image", .redirect("//[::1]:1/x"))
        },
        HostileCase("a redirect: to a host with an encoded space", .failure("invalid_url"), endsURLSession: true) {
            $0.on("/image", .redirect("//a%20b/"))
        },
        redirect("only a query", "?q=1", answer: "/deep/er/start?q=1"),
        redirect("with a fragment", "/x#there", answer: "/x"),
        redirect("with spaces", "/a b.png?c d", answer: "/a%20b.png?c%20d"),
        redirect("in other letters", "/사진.png", answer: "/%EC%82%AC%EC%A7%84.png"),
        redirect("percent-encoded", "/a%20b%2Fc%3A.png", answer: "/a%20b%2Fc%3A.png"),
        redirect("with a lone percent", "/100%", answer: "/100%25"),
        redirect("with user info", "http://eve:secret@127.0.0.1:{port}/x", answer: "/x"),
        redirect("to file:", "file:///etc/passwd", answer: "/-", .failure("refused")),
        redirect("to data:", "data:image/png;base64,iVBORw0KGgo=", answer: "/-", .failure("refused")),
        redirect("to ftp:", "ftp://127.0.0.1/x.png", answer: "/-", .failure("refused")),
        redirect("to no URL", "http://[::1", answer: "/-", .failure("invalid_url")),
        redirect("to a port that is none", "http://127.0.0.1:99999/", answer: "/-", .failure("invalid_url")),
        redirect("to nobody", "http://127.0.0.1:1/x", answer: "/-", .failure("unreachable")),
        HostileCase("a redirect: loop", .failure("refused")) { $0.on("/image", .redirect("/image")) },
        HostileCase("a redirect: loop of two", .failure("refused")) {
            $0.on("/image", .redirect("/other"))
            $0.on("/other", .redirect("/image"))
        },
        HostileCase("a redirect: 20 hops", .image) { $0.chain(20) },
        HostileCase("a redirect: 21 hops", .failure("refused")) { $0.chain(21) },
        HostileCase("a redirect: without Location", .failure("http_status")) {
            $0.on("/image", .status(302, body: image))
        },
        HostileCase("a redirect: with an empty Location", .failure("refused")) { $0.on("/image", .redirect("")) },
        HostileCase("a redirect: with a body", .image) {
            $0.on("/image", .status(302, [("Location", "/x")], body: [UInt8](repeating: 65, count: 100_000)))
            $0.on("/x", .ok(image))
        },
        HostileCase("a redirect: with a body without end", .image, exceptions: ["urlsession": .failure("timed_out")]) {
            let head = OriginReply.head(302, [("Location", "/x")])
            $0.on("/image", OriginReply([.send(head), .forever([UInt8](repeating: 0, count: 4096), pause: 10)]))
            $0.on("/x", .ok(image))
        },
        HostileCase("a redirect: two Locations", .image, exceptions: ["urlsession": .failure("http_status")]) {
            $0.on("/image", .status(302, [("Location", "/x"), ("Location", "/y")]))
            $0.on("/x", .ok(image))
        },
    ]
}

extension Origin {
    /// `/image` leads to an image over so many redirects.
    fileprivate func chain(_ hops: Int) {
        on("/image", .redirect("/1"))
        for hop in 1..<hops { on("/\(hop)", .redirect("/\(hop + 1)")) }
        on("/\(hops)", .ok(HostileCase.image))
    }
}
