import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderServer

/// The whole server on a socket: what clients see, byte for byte.
@Suite struct WireTests {
    private let time = ManualTime()
    private let fixture: ServerFixture
    private let daemon: HTTPDaemon
    private let bytes = SampleImage.png(5000)
    private let target = "/image?url=http://example.com/a.png"

    init() throws {
        fixture = try ServerFixture(time: time)
        try fixture.store("http://example.com/a.png", bytes)
        daemon = try HTTPDaemon(
            on: ListenSocket.bind(host: "127.0.0.1", port: 0), handler: fixture.server(),
            configuration: .init(threads: 2, idleTimeout: 200), time: time)
    }

    private func ask(
        _ line: String, _ fields: String..., hasBody: Bool = true
    ) async throws -> RawClient.Reply {
        let client = try RawClient(port: daemon.socket.port)
        client.send("\(line) HTTP/1.1\r\nHost: localhost\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
        return try #require(try await client.reply(hasBody: hasBody))
    }

    @Test func theFileIsSentWholeAndInParts() async throws {
        for _ in 0..<2 {
            let whole = try await ask("GET \(target)")
            #expect(whole.status == 200 && whole.body == bytes)
            #expect(whole.field("content-length") == "5000")
            #expect(whole.field("accept-ranges") == "bytes")
            #expect(whole.field("x-content-type-options") == "nosniff")
        }
        for (range, part) in [("0-0", 0..<1), ("100-299", 100..<300), ("4990-", 4990..<5000), ("-10", 4990..<5000)] {
            let reply = try await ask("GET \(target)", "Range: bytes=\(range)")
            #expect(reply.status == 206 && reply.body == Array(bytes[part]))
            #expect(reply.field("content-range") == "bytes \(part.lowerBound)-\(part.upperBound - 1)/5000")
        }
        let several = try await ask("GET \(target)", "Range: bytes=0-1,5-6")
        #expect(several.status == 200 && several.body == bytes)
        let beyond = try await ask("GET \(target)", "Range: bytes=5000-")
        #expect(beyond.status == 416 && beyond.field("content-range") == "bytes */5000")
        daemon.stopNow()
    }

    @Test func conditionsHoldOverTheWire() async throws {
        let tag = try #require(try await ask("GET \(target)").field("etag"))
        let modified = try #require(try await ask("GET \(target)").field("last-modified"))
        for field in ["If-None-Match: \(tag)", "If-None-Match: W/\(tag)", "If-Modified-Since: \(modified)"] {
            let reply = try await ask("GET \(target)", field)
            #expect(reply.status == 304 && reply.field("etag") == tag && reply.field("content-type") == nil)
        }
        #expect(try await ask("GET \(target)", "If-Match: \"other\"").status == 412)
        let current = try await ask("GET \(target)", "Range: bytes=0-1", "If-Range: \(tag)")
        #expect(current.status == 206 && current.body == Array(bytes[0..<2]))
        let other = try await ask("GET \(target)", "Range: bytes=0-1", "If-Range: \"other\"")
        #expect(other.status == 200 && other.body == bytes)
        daemon.stopNow()
    }

    @Test func headIsGetWithoutABody() async throws {
        for path in [target, target + "&fm=png", "/", "/healthz", "/api/entries", "/api/stats", "/metrics"] {
            let client = try RawClient(port: daemon.socket.port)
            client.request("HEAD \(path)")
            let head = try #require(try await client.reply(hasBody: false))
            #expect(head.status == 200)
            // What follows on the connection shows that there was no body.
            client.request("GET /healthz")
            #expect(try await client.reply()?.body == Array("{\"status\":\"ok\"}".utf8))
            let get = try await ask("GET \(path)")
            #expect(head.field("content-type") == get.field("content-type"), "\(path)")
            if path != "/metrics" { #expect(head.field("content-length") == get.field("content-length"), "\(path)") }
        }
        daemon.stopNow()
    }

    @Test func oldAndOddClientsAreAnsweredByTheBook() async throws {
        let old = try RawClient(port: daemon.socket.port)
        old.send("GET \(target) HTTP/1.0\r\n\r\n")
        #expect(try await old.reply()?.body == bytes)
        #expect(await old.isClosed())
        #expect(try await ask("GET http://127.0.0.1:1\(target)").body == bytes)
        #expect(try await ask("GET http://evil.example\(target)").status == 421)
        for method in ["OPTIONS", "TRACE", "PUT", "PATCH", "get"] {
            let reply = try await ask("\(method) \(target)")
            #expect(reply.status == 405 && reply.field("allow") == "GET, HEAD", "\(method)")
        }
        #expect(try await ask("GET /image?url=http://example.com/\(String(repeating: "a", count: 5000))").status == 414)
        let long = String(repeating: "a", count: 17_000)
        for request in ["GET /\(long) HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nX: \(long)\r\n\r\n"] {
            let client = try RawClient(port: daemon.socket.port)
            client.send(request)
            if let reply = try await client.reply() { #expect([400, 413, 414, 431].contains(reply.status)) }
        }
        #expect(try await ask("GET \(target)").status == 200)
        daemon.stopNow()
    }

    /// No path leads out of the cache, however it is written.
    @Test(arguments: [
        "/files/../../../../etc/passwd", "/files/ab/../../../etc/passwd", "/files/..%2f..%2fetc%2fpasswd",
        "/files/ab%2f..%2f..%2findex.sqlite", "/files//etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/../etc/passwd",
        "/files/ab/%00", "/image?url=file:///etc/passwd", "/unsafe/10x10/file:///etc/passwd", "/files/./index.sqlite",
        "/image?url=%2Fetc%2Fpasswd", "/files/ab\\..\\..", "/files/AB/CDEF0123456789ABCDEF0123456789.png",
    ])
    func nothingButEntriesIsGiven(path: String) async throws {
        let reply = try await ask("GET \(path)")
        #expect([400, 403, 404].contains(reply.status))
        #expect(reply.field("content-type") == "application/problem+json")
        #expect(!String(decoding: reply.body, as: UTF8.self).contains("root:"))
        daemon.stopNow()
    }

    /// A page of a cached document would be a page of this origin: images alone are given, under their own type.
    @Test func nothingFromTheCacheIsAPage() async throws {
        let page = Array("<html><script>alert(1)</script></html>".utf8)
        try fixture.store("http://example.com/page.png", page)
        let claimed = try await ask("GET /image?url=http://example.com/page.png")
        #expect(claimed.field("content-type") == "image/png" && claimed.field("x-content-type-options") == "nosniff")
        try fixture.store(
            "http://example.com/a.svg", Array("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>".utf8),
            header: ImageHeader(format: .svg, width: 1, height: 1, undecodable: "SVG"))
        let svg = try await ask("GET /image?url=http://example.com/a.svg")
        #expect(svg.field("content-type") == "image/svg+xml")
        let policy = try #require(svg.field("content-security-policy"))
        #expect(policy.contains("default-src 'none'") && policy.contains("sandbox") && !policy.contains("script-src"))
        // What a request says is given back as JSON, never as markup.
        let echo = try await ask("GET /<script>alert(1)</script>")
        #expect(echo.status == 404 && echo.field("content-type") == "application/problem+json")
        daemon.stopNow()
    }

    @Test func aClientThatStopsReadingIsEnded() async throws {
        let large = SampleImage.png(20 << 20)
        try fixture.store("http://example.com/large.png", large)
        let client = try RawClient(port: daemon.socket.port)
        client.request("GET /image?url=http://example.com/large.png")
        // The answer is on its way as soon as another client sees it counted among the connections in use.
        try await eventually("the answer") { try await metrics().contains("larder_verified_entries_total 1") }
        // Twice the idle time, and what 8 KiB a second would take.
        time.advance(seconds: 401 + Double(large.count) / 8192)
        #expect(try await ask("GET /healthz").status == 200)
        try await eventually("the end") { try await !metrics().contains("larder_slow_connections_total 0") }
        daemon.stopNow()
        #expect((try? await client.reply()) == nil)
    }

    private func metrics() async throws -> String {
        String(decoding: try await ask("GET /metrics").body, as: UTF8.self)
    }
}
