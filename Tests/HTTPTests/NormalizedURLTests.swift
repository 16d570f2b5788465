import Foundation
import Testing

@testable import Larder

@Suite struct NormalizedURLTests {
    @Test(arguments: [
        // scheme, host, port, path
        ("HTTP://EXAMPLE.com/A.png", "http://example.com/A.png"),
        ("https://example.com", "https://example.com/"),
        ("https://example.com?q", "https://example.com/?q"),
        ("https://example.com#f", "https://example.com/"),
        ("http://example.com:80/a", "http://example.com/a"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("https://example.com:80/a", "https://example.com:80/a"),
        ("https://example.com:/a", "https://example.com/a"),
        ("https://example.com:08443/a", "https://example.com:8443/a"),
        ("  https://example.com/a.png \r\n", "https://example.com/a.png"),
        ("https://a_b.example.com/", "https://a_b.example.com/"),
        ("https://example.com./a", "https://example.com./a"),
        // user info and fragment
        ("https://user:p%40ss@example.com/a#x", "https://example.com/a"),
        ("https://a@b@example.com/", "https://example.com/"),
        ("https://example.com/a@b?c@d", "https://example.com/a@b?c@d"),
        // percent-encoding, once
        ("https://e.com/%3A%2f%zz%", "https://e.com/%3A%2f%25zz%25"),
        ("https://e.com/100%.png?a=50%", "https://e.com/100%25.png?a=50%25"),
        ("https://e.com/100%25.png", "https://e.com/100%25.png"),
        ("https://e.com/a b.png?c d", "https://e.com/a%20b.png?c%20d"),
        ("https://e.com/ä.png?ü", "https://e.com/%C3%A4.png?%C3%BC"),
        ("https://e.com/a+b?c+d", "https://e.com/a+b?c+d"),
        ("https://e.com/[a]|{b}^`\\\"<>", "https://e.com/%5Ba%5D%7C%7Bb%7D%5E%60%5C%22%3C%3E"),
        ("https://e.com/a,b;c=d!$&'()*~", "https://e.com/a,b;c=d!$&'()*~"),
        ("https://e.com/a?b?c/../d", "https://e.com/a?b?c/../d"),
        // dot segments
        ("https://e.com/a/./b/../c", "https://e.com/a/c"),
        ("https://e.com/../../a", "https://e.com/a"),
        ("https://e.com/a/..", "https://e.com/"),
        ("https://e.com/a/b/..", "https://e.com/a/"),
        ("https://e.com/a/.", "https://e.com/a/"),
        ("https://e.com/.", "https://e.com/"),
        ("https://e.com/.well-known/a", "https://e.com/.well-known/a"),
        ("https://e.com/a//b", "https://e.com/a//b"),
        ("https://e.com/a/%2e%2e/b", "https://e.com/a/%2e%2e/b"),
        // international names
        ("http://BÜCHER.example/ä", "http://xn--bcher-kva.example/%C3%A4"),
        ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/"),
        ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
        ("http://例え.テスト/", "http://xn--r8jz45g.xn--zckzah/"),
        ("http://%65xample.com/", "http://example.com/"),
        // addresses
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://0x7f000001/", "http://127.0.0.1/"),
        ("http://017700000001:81/", "http://127.0.0.1:81/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://192.168.257/", "http://192.168.1.1/"),
        ("http://１２７.1/", "http://127.0.0.1/"),
        ("http://[::1]:80/", "http://[::1]/"),
        ("http://[0:0:0:0:0:FFFF:127.0.0.1]:81/a", "http://[::ffff:127.0.0.1]:81/a"),
    ])
    func givesTheNormalForm(_ input: String, _ expected: String) throws {
        let url = try NormalizedURL(input)
        #expect(url.string == expected)
        #expect(try NormalizedURL(expected).string == expected, "normal forms stay")
        #expect(try url.url().absoluteString == expected)
    }

    @Test(arguments: [
        "", "   ", "example.com/a.png", "//example.com/a", "/a.png", "a.png", "http:/example.com", "http:example.com",
        "http://", "http:///a", "http://?q", "http://:80/", "http://user@/", "http://example.com:99999/",
        "http://example.com:0/", "http://example.com:8o/", "http://example.com:-1/", "http://a..b/", "http://.a/",
        "http://a b.com/", "http://a<b.com/", "http://[::1/", "http://[::g]/", "http://[fe80::1%25eth0]/",
        "http://[::1]x/", "http://256.256.256.256/", "http://1.2.3.4.5/", "http://999999999999/", "http://0xzz.1/",
        "http://a\\b@example.com\\/", "http://exa%00mple.com/", "http://%2f/", "http://%ff/", "http://a%2fb.com/",
        "http://e.com/\u{0}a", "http://e.com/a\nb", "http://e.com/a\tb", "example.com:8080/a.png",
        "http://" + String(repeating: "a", count: 64) + ".com/",
        "http://e.com/" + String(repeating: "a", count: 20_000),
    ])
    func refusesWhatIsNoURLWithHelp(_ input: String) {
        let error = #expect(throws: ImageError.self) { try NormalizedURL(input) }
        #expect(error?.code == "invalid_url")
        #expect(error?.details.detail.isEmpty == false)
    }

    @Test(arguments: ["file:///etc/passwd", "data:image/png;base64,AAAA", "ftp://e.com/a", "javascript:alert(1)"])
    func refusesOtherSchemes(_ input: String) {
        let error = #expect(throws: ImageError.self) { try NormalizedURL(input) }
        #expect(error?.code == "refused")
    }

    @Test func errorsNameNoCredentials() {
        let error = #expect(throws: ImageError.self) { try NormalizedURL("http://user:secret@a..b/x?y") }
        #expect(error?.url == "http://a..b/x?y")
        let scheme = #expect(throws: ImageError.self) { try NormalizedURL("ftp://user:secret@e.com/x") }
        #expect(scheme?.url == "ftp://e.com/x")
    }

    @Test func knowsItsParts() throws {
        let url = try NormalizedURL("https://Example.com:8443/a?b")
        #expect(url.host == "example.com" && url.port == 8443 && url.isSecure)
        #expect(url.origin == "https://example.com:8443")
        #expect(url.target == "/a?b")
        let plain = try NormalizedURL("http://example.com/a")
        #expect(plain.host == "example.com" && plain.port == 80 && !plain.isSecure)
        #expect(plain.origin == "http://example.com")
        #expect(try NormalizedURL("http://[::1]:8080/").host == "[::1]")
    }

    @Test func randomTextIsRefusedOrStaysAsItIsNormalised() {
        let alphabet = Array("htps:/.@%#?[]a0Zé+-_ \\xn")
        let hosts = [
            "", "e.com", "e.com:80", "e.com:8080", "127.0.0.1:1", "10.0.0.1", "1.2.3", "01.2.3.4", "1.2.3.256",
        ]
        for index in 0..<5000 {
            let rest = String((0..<Int.random(in: 0...24)).map { _ in alphabet.randomElement()! })
            let text = "http://" + hosts[index % hosts.count] + (index % 2 == 0 ? "/" : "") + rest
            guard let url = try? NormalizedURL(text) else { continue }
            // White space in front takes the long way, which must agree with the short one.
            let long = try? NormalizedURL(" " + text)
            #expect(long == url && long?.host == url.host && long?.port == url.port, "\(text)")
            #expect((try? NormalizedURL(url.string))?.string == url.string, "\(text)")
            #expect((try? url.url()) != nil, "\(text)")
        }
    }
}
