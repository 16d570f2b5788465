import Foundation
import Testing

@testable import Larder

@Suite struct RedirectPolicyTests {
    private func request(
        _ url: String, method: String = "GET", fields: HTTPFields = [:], body: [UInt8] = []
    ) throws -> TransportRequest {
        TransportRequest(url: try #require(URL(string: url)), method: method, fields: fields, body: body)
    }

    /// RFC 3986 §5.4: the examples, normal and abnormal. Fragments are not kept.
    @Test(
        arguments: [
            ("g:h", nil), ("g", "/b/c/g"), ("./g", "/b/c/g"), ("g/", "/b/c/g/"), ("/g", "/g"), ("?y", "/b/c/d;p?y"),
            ("g?y", "/b/c/g?y"), ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y"), (";x", "/b/c/;x"),
            ("g;x", "/b/c/g;x"), ("g;x?y#s", "/b/c/g;x?y"), ("", "/b/c/d;p?q"), (".", "/b/c/"), ("./", "/b/c/"),
            ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g"), ("../..", "/"), ("../../", "/"), ("../../g", "/g"),
            ("../../../g", "/g"), ("../../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g"), ("g.", "/b/c/g."),
            (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g"), ("./../g", "/b/g"), ("./g/.", "/b/c/g/"),
            ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h"), ("g;x=1/./y", "/b/c/g;x=1/y"), ("g;x=1/../y", "/b/c/y"),
            ("g?y/./x", "/b/c/g?y/./x"), ("g?y/../x", "/b/c/g?y/../x"),
        ] as [(String, String?)])
    func resolvesByRFC3986(reference: String, path: String?) throws {
        let base = try #require(URL(string: "http://a/b/c/d;p?q"))
        let resolved = base.resolving(reference: reference)
        if let path {
            #expect(resolved?.absoluteString == "http://a\(path)")
        } else {
            #expect(resolved?.scheme == "g")
        }
    }

    @Test(arguments: [
        ("c.png", "http://h.example/a/c.png"), ("../z.png", "http://h.example/z.png"),
        ("//other.example/x", "http://other.example/x"), ("?q=1", "http://h.example/a/b.png?q=1"),
        ("https://o.example/", "https://o.example/"), ("  /x \t", "http://h.example/x"),
        ("/a b.png", "http://h.example/a%20b.png"), ("/ä.png", "http://h.example/%C3%A4.png"),
        ("/한국.png?q=사진", "http://h.example/%ED%95%9C%EA%B5%AD.png?q=%EC%82%AC%EC%A7%84"),
        ("/a%20b%3Ac%2F.png", "http://h.example/a%20b%3Ac%2F.png"), ("/a%zz", "http://h.example/a%25zz"),
        ("/a|b<c>\"d\\e^`{}", "http://h.example/a%7Cb%3Cc%3E%22d%5Ce%5E%60%7B%7D"),
        ("/a[1].png", "http://h.example/a%5B1%5D.png"), ("/a+b", "http://h.example/a+b"),
        ("/a?b+c&d=e%2B", "http://h.example/a?b+c&d=e%2B"),
        ("http://user:pass@o.example/x", "http://o.example/x"),
        ("//bücher.example/x", "http://xn--bcher-kva.example/x"),
        ("http://o.example:8080/x#frag", "http://o.example:8080/x"), ("/a#b#c", "http://h.example/a"),
    ])
    func resolvesWhatServersSend(location: String, expected: String) throws {
        let base = try #require(URL(string: "http://h.example/a/b.png?old=1#old"))
        #expect(base.resolving(reference: location)?.absoluteString == expected)
    }

    @Test(arguments: [300, 304, 305, 306, 200, 404])
    func takesOtherStatusesForFinal(status: Int) throws {
        let next = try RedirectPolicy().next(after: request("http://a/"), status: status, fields: ["Location": "/b"])
        #expect(next == nil)
    }

    @Test func takesARedirectWithoutLocationForFinal() throws {
        #expect(try RedirectPolicy().next(after: request("http://a/"), status: 302, fields: [:]) == nil)
    }

    @Test(arguments: ["file:///etc/passwd", "data:image/png;base64,AAAA", "ftp://a/b", "javascript:1", "gopher://a"])
    func refusesOtherSchemes(location: String) throws {
        #expect {
            try RedirectPolicy().next(after: request("http://a/"), status: 302, fields: ["Location": location])
        } throws: {
            guard case .refused(.scheme, _) = $0 as? ImageError else { return false }
            return true
        }
    }

    @Test(arguments: ["http://", "http:///x", "//", "http://[::1", "http://a:b:c/", "http://a:99999999999999999999/"])
    func refusesWhatIsNoURL(location: String) throws {
        #expect {
            try RedirectPolicy().next(after: request("http://a/"), status: 302, fields: ["Location": location])
        } throws: { ["invalid_url", "refused"].contains(($0 as? ImageError)?.code) }
    }

    @Test func refusesADowngradeUnlessAllowed() throws {
        let from = try request("https://a/")
        #expect { try RedirectPolicy().next(after: from, status: 301, fields: ["Location": "http://a/"]) } throws: {
            guard case .refused(.redirect, let details) = $0 as? ImageError else { return false }
            return details.isTransient == nil && !($0 as! ImageError).isRetryable
        }
        let next = try RedirectPolicy(allowsDowngrade: true).next(
            after: from, status: 301, fields: ["Location": "http://a/"])
        #expect(next?.url.absoluteString == "http://a/")
        #expect(
            try RedirectPolicy().next(after: request("http://a/"), status: 301, fields: ["Location": "https://a/"])?.url
                .absoluteString == "https://a/")
    }

    @Test(arguments: [
        ("http://a/x", "http://a/y", true), ("http://a/x", "http://A:80/y", true), ("http://a/", "https://a/", false),
        ("http://a/", "http://b/", false), ("http://a/", "http://a:8080/", false), ("http://a/", "//a.b/", false),
    ])
    func keepsCredentialsOnlyWithinAnOrigin(from: String, to: String, keeps: Bool) throws {
        let fields: HTTPFields = [
            "AUTHORIZATION": "x", "cookie": "y", "Proxy-Authorization": "z", "X-Other": "o", "If-None-Match": "\"e\"",
            "x-api-key": "k", "X-Auth-Token": "t",
        ]
        let next = try RedirectPolicy().next(
            after: request(from, fields: fields), status: 302, fields: ["Location": to])
        #expect((next?.fields["Authorization"] != nil) == keeps)
        #expect((next?.fields["Cookie"] != nil) == keeps)
        #expect((next?.fields["Proxy-Authorization"] != nil) == keeps)
        #expect((next?.fields["X-Api-Key"] != nil) == keeps)
        #expect((next?.fields["X-Auth-Token"] != nil) == keeps)
        #expect(next?.fields["X-Other"] == "o")
        #expect(next?.fields["If-None-Match"] == "\"e\"")
    }

    @Test(arguments: [
        (301, "POST", "GET"), (302, "POST", "GET"), (303, "POST", "GET"), (303, "PUT", "GET"), (307, "POST", "POST"),
        (308, "POST", "POST"), (302, "PUT", "PUT"), (303, "HEAD", "HEAD"), (302, "HEAD", "HEAD"), (301, "GET", "GET"),
    ])
    func choosesTheMethod(status: Int, method: String, expected: String) throws {
        let next = try RedirectPolicy().next(
            after: request("http://a/", method: method, body: [1]), status: status, fields: ["Location": "/b"])
        #expect(next?.method == expected)
        #expect(next?.body == (expected == method ? [1] : []))
    }
}
