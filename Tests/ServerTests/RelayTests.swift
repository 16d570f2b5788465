import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderServer

@Suite struct RelayTests {
    private let directory = TemporaryDirectory()
    private let time = ManualTime()

    private func relay(_ script: @escaping ScriptedTransport.Script) throws -> (Relay, ScriptedTransport) {
        let transport = ScriptedTransport(script)
        var redirects = RedirectPolicy()
        redirects.handsOn = true
        var configuration = FetcherConfiguration()
        configuration.freshness = .strict
        configuration.retries = .none
        let fetcher = CachingFetcher(
            client: HTTPClient(transport: transport, redirects: redirects, time: time),
            disk: try DiskTier(directory: directory.path, time: time),
            executor: BlockingExecutor(name: "disk", width: 2), configuration: configuration, time: time)
        return (
            Relay(upstream: try NormalizedURL("http://up.example/ignored"), fetcher: fetcher, time: time), transport
        )
    }

    private func get(_ target: String = "/a", _ fields: HTTPFields = [:], method: String = "GET") -> Relay.Request {
        Relay.Request(method: method, target: target, fields: fields)
    }

    @Test func storesAnyContentAndSaysHowOldItIs() async throws {
        let (relay, transport) = try relay { _, _ in
            .ok(Array("hello".utf8), ["Cache-Control": "max-age=60", "X-A": "1", "Connection": "X-Hop", "X-Hop": "1"])
        }
        let first = await relay.answer(get())
        #expect(first.status == 200 && first.body == Array("hello".utf8))
        #expect(first.fields["age"] == nil && first.fields["x-hop"] == nil && first.fields["x-a"] == "1")
        time.advance(seconds: 7)
        let second = await relay.answer(get())
        #expect(second.fields["age"] == "7" && second.fields["x-a"] == "1" && second.body == Array("hello".utf8))
        #expect(Set(second.fields.fields.map { $0.name.lowercased() }) == ["cache-control", "x-a", "age"])
        #expect(transport.requests.count == 1)
        #expect(transport.requests[0].url.absoluteString == "http://up.example/a")
        #expect(transport.requests[0].fields["user-agent"] == nil)
    }

    @Test func faultsAndRedirectsAreAnswersAndStoredWhereTheyMayBe() async throws {
        let (relay, transport) = try relay { request, _ in
            switch request.url.path {
            case "/gone": .status(410, ["Cache-Control": "max-age=60"], [1])
            case "/moved": .status(301, ["Location": "/x", "Cache-Control": "max-age=60"])
            default: .status(500)
            }
        }
        for _ in 0..<2 {
            #expect(await relay.answer(get("/gone")).status == 410)
            #expect(await relay.answer(get("/moved")).fields["location"] == "/x")
            #expect(await relay.answer(get("/other")).status == 500)
        }
        #expect(transport.requests.count == 4)
    }

    @Test func conditionsAndRangesAreAnsweredFromTheStore() async throws {
        let (relay, transport) = try relay { _, _ in
            .ok(Array("0123456789".utf8), ["Cache-Control": "max-age=60", "ETag": "\"a\""])
        }
        _ = await relay.answer(get())
        let current = await relay.answer(get("/a", ["If-None-Match": "\"a\""]))
        #expect(current.status == 304 && current.body.isEmpty && current.fields["etag"] == "\"a\"")
        #expect(await relay.answer(get("/a", ["If-None-Match": "\"b\""])).status == 200)
        for (range, text, place) in [
            ("bytes=0-1", "01", "bytes 0-1/10"), ("bytes=8-", "89", "bytes 8-9/10"), ("bytes=-1", "9", "bytes 9-9/10"),
            ("bytes=8-99", "89", "bytes 8-9/10"),
        ] {
            let part = await relay.answer(get("/a", ["Range": range]))
            #expect(part.status == 206 && part.body == Array(text.utf8))
            #expect(part.fields["content-range"] == place)
        }
        #expect(await relay.answer(get("/a", ["Range": "bytes=0-1", "If-Range": "\"b\""])).status == 200)
        let head = await relay.answer(get(method: "HEAD"))
        #expect(head.status == 200 && head.body.isEmpty && head.length == 10)
        #expect(transport.requests.count == 1)
    }

    @Test func unsafeMethodsInvalidate() async throws {
        let (relay, transport) = try relay { request, _ in
            request.method == "GET"
                ? .ok([1], ["Cache-Control": "max-age=60"])
                : .status(200, ["Location": "/b", "Content-Location": "http://other.example/c"], [2])
        }
        for target in ["/a", "/b", "/c"] { _ = await relay.answer(get(target)) }
        var post = get(method: "POST")
        post.body = [7]
        #expect(await relay.answer(post).body == [2])
        #expect(transport.requests.last?.body == [7])
        for target in ["/a", "/b", "/c"] { _ = await relay.answer(get(target)) }
        #expect(transport.requests.filter { $0.method == "GET" }.count == 5)
    }

    @Test func onlyIfCachedAndFaultsOfTheNetworkAreGatewayErrors() async throws {
        let (relay, _) = try relay { _, _ in .fail(.unreachable(.init("down"))) }
        #expect(await relay.answer(get("/a", ["Cache-Control": "only-if-cached"])).status == 504)
        #expect(await relay.answer(get()).status == 504)
    }

    @Test(arguments: [
        (ImageError.unreachable(.init("refused")), 504), (.timedOut(.connect, .init()), 504),
        (.timedOut(.idle, .init()), 504), (.malformed("no status line"), 502), (.truncated(.init()), 502),
    ]) func whatMustBeRevalidatedIsNotServedCutOffFromTheOrigin(fault: ImageError, status: Int) async throws {
        let (relay, transport) = try relay { _, count in
            count == 1 ? .ok([1], ["Cache-Control": "max-age=1, must-revalidate"]) : .fail(fault)
        }
        #expect(await relay.answer(get()).status == 200)
        time.advance(seconds: 2)
        let answer = await relay.answer(get())
        #expect(answer.status == status && answer.body == Array("\(fault.code)\n".utf8))
        #expect(transport.requests.count == 2)
    }

    @Test func listensOnLoopbackAndKeepsConnections() async throws {
        let (relay, transport) = try relay { request, _ in
            .ok(Array("\(request.method) \(request.body.count)".utf8), ["Cache-Control": "max-age=60"])
        }
        let listener = try RelayListener(relay: relay, port: 0)
        defer { listener.stop() }
        let answer = try LoopbackClient.exchange(
            port: listener.port,
            "GET /a HTTP/1.1\r\nHost: x\r\n\r\nPOST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
                + "GET /c HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        #expect(answer.contains("GET 0") && answer.contains("POST 3"))
        #expect(answer.components(separatedBy: "HTTP/1.1 200").count == 4)
        #expect(transport.requests.count == 3)
    }
}

/// Writes a text to a port and reads until the end.
private enum LoopbackClient {
    static func exchange(port: Int, _ text: String) throws -> String {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(socket) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw POSIXError(.ECONNREFUSED) }
        let bytes = Array(text.utf8)
        _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count <= 0 { break }
            all += buffer[..<count]
        }
        return String(decoding: all, as: UTF8.self)
    }
}
