import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderServer

/// Answers with the target, at once or when a gate opens.
private final class EchoHandler: RequestHandler {
    let gate = TestSupport.Gate()
    let log = Lock<[String]>([])
    let timeouts = Lock(0)
    let indifferentFields: [StaticString] = []
    let wantsRequests = true

    func respond(to request: Request) -> Response {
        let answer = Answer(200, fields: ["Content-Type": "text/plain"], body: .bytes(Array(request.target.utf8)))
        guard request.target.hasPrefix("/later") else { return .now(answer) }
        return .later { [gate] in
            await withHandover { continuation in
                Thread {
                    gate.wait()
                    continuation.resume()
                }.start()
            }
            return answer
        }
    }

    func completed(_ request: Request, _ answer: Answer, seconds: Double) {
        log.withLock { $0.append("\(request.method.name) \(request.target) \(answer.status)") }
    }
    func connection(opened: Bool) {}
    func connectionTimedOut() { timeouts.withLock { $0 += 1 } }
}

@Suite struct HTTPDaemonTests {
    private let handler = EchoHandler()

    /// The idle timeout is libmicrohttpd's, by the real clock: on a busy machine all other tests may have their turn
    /// before a connection's next byte.
    private func start(
        _ configuration: HTTPDaemon.Configuration = .init(threads: 2, idleTimeout: 200),
        time: any TimeSource = SystemTime()
    ) throws -> HTTPDaemon {
        try HTTPDaemon(
            on: ListenSocket.bind(host: "127.0.0.1", port: 0), handler: handler, configuration: configuration,
            time: time)
    }

    /// libmicrohttpd drops what has more cookies than its memory takes, and does not say that the request is over.
    @Test func aRequestThatIsDroppedIsNoLongerInHand() async throws {
        let daemon = try start()
        let cookies = (0..<300).map { "c\($0)=v\($0)" }.joined(separator: "; ")
        for _ in 0..<3 {
            let client = try RawClient(port: daemon.socket.port)
            client.send("GET /a HTTP/1.1\r\nHost: a\r\nCookie: \(cookies)\r\n\r\n")
            #expect(await client.isClosed())
        }
        try await eventually("no request is in hand") { daemon.requestsInHand == 0 && daemon.connections == 0 }
        let client = try RawClient(port: daemon.socket.port)
        client.request("GET /b", "X: \(String(repeating: "x", count: 9000))")
        #expect(try await client.reply()?.status == 200)
        await daemon.drain(seconds: 1000)
    }

    @Test func targetsArriveAsTheyWereSent() async throws {
        let daemon = try start()
        let client = try RawClient(port: daemon.socket.port)
        client.request("GET /a%2Fb%20c?d=%2B&e")
        let reply = try #require(try await client.reply())
        #expect(reply.status == 200)
        #expect(String(decoding: reply.body, as: UTF8.self) == "/a%2Fb%20c?d=%2B&e")
        daemon.stopNow()
        #expect(handler.log.withLock { $0 } == ["GET /a%2Fb%20c?d=%2B&e 200"])
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        let daemon = try start()
        let client = try RawClient(port: daemon.socket.port)
        client.send(["/1", "/2", "/3"].map { "GET \($0) HTTP/1.1\r\nHost: a\r\n\r\n" }.joined())
        for wanted in ["/1", "/2", "/3"] {
            #expect(String(decoding: try #require(try await client.reply()).body, as: UTF8.self) == wanted)
        }
        daemon.stopNow()
    }

    @Test func anHTTP10ConnectionEnds() async throws {
        let daemon = try start()
        let client = try RawClient(port: daemon.socket.port)
        client.send("GET /old HTTP/1.0\r\n\r\n")
        #expect(try await client.reply()?.status == 200)
        #expect(await client.isClosed())
        daemon.stopNow()
    }

    @Test(arguments: [
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET /a HTTP/1.1\r\nHost : a\r\nX: b\r\n\r\n",
        "GET /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n", "GET /a HTTP/1.1\r\nX: b\r\n\r\n",
        "GET /a\u{0}b HTTP/1.1\r\nHost: a\r\n\r\n", "GET /a  HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a HTTP/2.0\r\nHost: a\r\n\r\n",
    ])
    func whatIsSmuggledIsNeverAnswered(request: String) async throws {
        let daemon = try start()
        let client = try RawClient(port: daemon.socket.port)
        client.send(request + "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
        if let reply = try await client.reply() {
            #expect((400...505).contains(reply.status), "\(reply.status) for \(request.debugDescription)")
            #expect(!String(decoding: reply.body, as: UTF8.self).contains("smuggled"))
        }
        #expect(try await client.reply() == nil)
        daemon.stopNow()
        #expect(!handler.log.withLock { $0 }.contains { $0.contains("smuggled") })
    }

    @Test func aHeaderThatTakesTooLongEndsTheConnection() async throws {
        let time = ManualTime()
        let daemon = try start(.init(threads: 2, idleTimeout: 200, headerTimeout: 10), time: time)
        let slow = try RawClient(port: daemon.socket.port)
        slow.send("GET /slow HTTP/1.1\r\nHos")
        try await eventually("a connection") { daemon.connections > 0 }
        let healthy = try RawClient(port: daemon.socket.port)
        healthy.request("GET /healthy")
        #expect(try await healthy.reply()?.status == 200)
        time.advance(seconds: 11)
        slow.send("t: ")
        #expect(await slow.isClosed())
        healthy.request("GET /healthy")
        #expect(try await healthy.reply()?.status == 200)
        try await eventually("a timeout") { handler.timeouts.withLock { $0 } > 0 }
        daemon.stopNow()
    }

    @Test func anAnswerMayComeLater() async throws {
        let daemon = try start()
        let client = try RawClient(port: daemon.socket.port)
        client.request("GET /later")
        await handler.gate.reached()
        // The thread is free in the meantime.
        let other = try RawClient(port: daemon.socket.port)
        other.request("GET /now")
        #expect(try await other.reply()?.status == 200)
        handler.gate.open()
        #expect(String(decoding: try #require(try await client.reply()).body, as: UTF8.self) == "/later")
        client.request("GET /again")
        #expect(try await client.reply()?.status == 200)
        daemon.stopNow()
    }

    @Test func drainingLetsRequestsInHandComeToTheirEnd() async throws {
        let daemon = try start()
        let client = try RawClient(port: daemon.socket.port)
        client.request("GET /later")
        await handler.gate.reached()
        let drain = Task { await daemon.drain(seconds: 30) }
        try await eventually("a refusal") { (try? RawClient(port: daemon.socket.port)) == nil }
        handler.gate.open()
        let reply = try #require(try await client.reply())
        #expect(reply.status == 200)
        #expect(reply.field("connection")?.lowercased() == "close")
        await drain.value
        #expect(await client.isClosed())
    }

    /// libmicrohttpd ends the process where a connection is still suspended when it stops.
    @Test func stoppingAnswersWhatStillWaits() async throws {
        let daemon = try start()
        let client = try RawClient(port: daemon.socket.port)
        client.request("GET /later")
        await handler.gate.reached()
        daemon.stopNow()
        #expect(try await client.reply()?.status ?? 503 == 503)
        handler.gate.open()
    }

    @Test func aSessionOfOneThreadWorksToo() async throws {
        let daemon = try start(.init(threads: 1, idleTimeout: 200))
        let client = try RawClient(port: daemon.socket.port)
        client.request("HEAD /a")
        #expect(try await client.reply(hasBody: false)?.field("content-length") == "2")
        daemon.stopNow()
    }
}
