import Larder
import TestSupport
import Testing

@testable import LarderServer

/// Counts what it is asked, and lends its answers out.
private final class LendingHandler: RequestHandler {
    let indifferentFields: [StaticString] = ["user-agent", "accept"]
    let wantsRequests = false
    let asked = Lock(0)
    let holds = Lock(true)
    let completed = Lock<[Int]>([])
    let until: UInt64

    init(until: UInt64) { self.until = until }

    func respond(to request: Request) -> Response {
        let count = asked.withLock { count in
            count += 1
            return count
        }
        var answer = Answer(200, body: .bytes(Array("\(request.target) \(count)".utf8)))
        answer.lease = AnswerLease(until: until) { [holds] in holds.withLock { $0 } }
        return .now(answer)
    }

    func completed(_ request: Request, _ answer: Answer, seconds: Double) {
        completed.withLock { $0.append(answer.body.length) }
    }
    func connection(opened: Bool) {}
    func connectionTimedOut() {}
}

@Suite struct ReadyAnswersTests {
    private let time = ManualTime()
    private let handler: LendingHandler
    private let daemon: HTTPDaemon

    init() throws {
        handler = LendingHandler(until: time.monotonic + 1_000_000_000)
        daemon = try HTTPDaemon(
            on: ListenSocket.bind(host: "127.0.0.1", port: 0), handler: handler,
            configuration: .init(threads: 2, idleTimeout: 200), time: time)
    }

    private func ask(_ line: String = "GET /a", _ fields: [String] = ["Host: localhost"]) async throws -> String {
        let client = try RawClient(port: daemon.socket.port)
        client.send("\(line) HTTP/1.1\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
        return String(decoding: try #require(try await client.reply()).body, as: UTF8.self)
    }

    @Test func whatIsAskedForAgainAndAgainIsAskedOfTheHandlerTwice() async throws {
        #expect(try await ask() == "/a 1")
        for _ in 0..<4 { #expect(try await ask() == "/a 2") }
        #expect(try await ask("GET /a", ["host: localhost", "User-Agent: x", "ACCEPT: */*"]) == "/a 2")
        daemon.stopNow()
        #expect(handler.asked.withLock { $0 } == 2)
        #expect(handler.completed.withLock { $0 } == [4, 4, 4, 4, 4, 4])
    }

    @Test(arguments: [
        ("GET /a", ["Host: localhost", "Range: bytes=0-0"]),
        ("GET /a", ["Host: localhost", "Authorization: Bearer t"]),
        ("GET /a", ["Host: localhost", "Cookie: a=b"]), ("GET /a", ["Host: localhost", "Sec-Fetch-Site: cross-site"]),
        ("GET /a", ["Host: other"]), ("GET /b", ["Host: localhost"]), ("GET /a?", ["Host: localhost"]),
        ("POST /a", ["Host: localhost", "Content-Length: 0"]), ("GET /%61", ["Host: localhost"]),
    ])
    func whatIsNotTheSameIsAskedOfTheHandler(line: String, fields: [String]) async throws {
        for _ in 0..<3 { _ = try await ask() }
        #expect(try await ask(line, fields).hasSuffix(" 3"))
        daemon.stopNow()
    }

    @Test func smugglersAreRefusedAllTheSame() async throws {
        for _ in 0..<3 { _ = try await ask() }
        for fields in [
            ["Host: localhost", "Host: localhost"], ["Host: localhost", "Transfer-Encoding: chunked"],
            ["Host: localhost", "User-Agent : x"], ["Host: localhost", "Content-Length: 3"], ["User-Agent: x"],
        ] {
            let client = try RawClient(port: daemon.socket.port)
            client.send("GET /a HTTP/1.1\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
            if let reply = try await client.reply() { #expect(reply.status == 400) }
        }
        daemon.stopNow()
        #expect(handler.asked.withLock { $0 } == 2)
    }

    @Test func aLeaseThatIsOverIsNoMore() async throws {
        for _ in 0..<3 { _ = try await ask() }
        handler.holds.withLock { $0 = false }
        #expect(try await ask() == "/a 3")
        handler.holds.withLock { $0 = true }
        #expect(try await ask() == "/a 3")
        time.advance(seconds: 1)
        #expect(try await ask() == "/a 4")
        daemon.stopNow()
    }
}

/// The server's own leases: what is given again is what would be answered anew.
@Suite struct ImageLeaseTests {
    private let time = ManualTime()
    private let fixture: ServerFixture
    private let server: ImageServer
    private let daemon: HTTPDaemon
    private let url = "http://example.com/a.png"
    private let old = SampleImage.png(3000, seed: 1)
    private let new = SampleImage.png(3000, seed: 2)

    init() throws {
        fixture = try ServerFixture(time: time)
        try fixture.store(url, old)
        server = fixture.server()
        daemon = try HTTPDaemon(
            on: ListenSocket.bind(host: "127.0.0.1", port: 0), handler: server,
            configuration: .init(threads: 2, idleTimeout: 200), time: time)
        // The freshness of an hour, and a part of a second to go before its number changes.
        time.advance(seconds: 0.25)
    }

    private func ask(_ more: String = "") async throws -> RawClient.Reply {
        let client = try RawClient(port: daemon.socket.port)
        client.request("GET /image?url=\(url)\(more)")
        return try #require(try await client.reply())
    }

    @Test func anImageThatIsReplacedOrRemovedIsNotGivenAgain() async throws {
        for _ in 0..<4 { #expect(try await ask().body == old) }
        try fixture.store(url, new)
        for _ in 0..<4 { #expect(try await ask().body == new) }
        fixture.tier.remove(CacheKey(url: url))
        #expect(try await ask().status == 404)
        daemon.stopNow()
    }

    @Test func aThumbnailGoesWithItsSource() async throws {
        _ = try fixture.storePicture(url)
        var bodies: Set<[UInt8]> = []
        for _ in 0..<4 { bodies.insert(try await ask("&w=16").body) }
        #expect(bodies.count == 1)
        _ = try fixture.storePicture(url, width: 32, height: 32)
        for _ in 0..<4 { #expect(try await !bodies.contains(ask("&w=16").body)) }
        daemon.stopNow()
    }

    @Test func newKeysHoldAtOnce() async throws {
        for _ in 0..<4 { #expect(try await ask().status == 200) }
        server.reload(AccessControl(token: Secret("t")))
        #expect(try await ask().status == 401)
        daemon.stopNow()
    }

    @Test func theRemainingFreshnessIsSaidToTheSecond() async throws {
        for _ in 0..<4 { #expect(try await ask().field("cache-control") == "public, max-age=3599") }
        time.advance(seconds: 0.7)
        #expect(try await ask().field("cache-control") == "public, max-age=3599")
        time.advance(seconds: 0.1)
        for _ in 0..<3 { #expect(try await ask().field("cache-control") == "public, max-age=3598") }
        daemon.stopNow()
    }
}
