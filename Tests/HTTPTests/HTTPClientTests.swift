import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite(.timeLimit(.minutes(1))) struct HTTPClientTests {
    private func client(
        _ redirects: RedirectPolicy = .init(), hosts: HostPolicy = .init()
    ) -> HTTPClient {
        HTTPClient(
            transport: URLSessionTransport(configuration: .init(transfersAtOnce: 4)), redirects: redirects,
            hosts: hosts)
    }

    @Test func followsRedirectsToTheEnd() async throws {
        let origin = try Origin()
        origin.on("/a/b", .redirect("../c?x=1#y"))
        origin.on("/c", .redirect("d e"))
        origin.on("/d%20e", .ok([1, 2, 3]))
        let response = try await client().open(.init(url: origin.url("/a/b")))
        #expect(response.url == origin.url("/d%20e"))
        #expect(response.redirects == 2)
        #expect(try await response.body.all() == [1, 2, 3])
        #expect(origin.requests.map(\.target) == ["/a/b", "/c?x=1", "/d%20e"])
    }

    @Test func readsASchemeInCapitals() async throws {
        let origin = try Origin()
        origin.on("/a", .redirect(origin.url("/b").absoluteString.replacing("http://", with: "HTTP://")))
        origin.on("/b", .ok([1]))
        let start = try #require(URL(string: origin.url("/a").absoluteString.replacing("http://", with: "Http://")))
        #expect(try await client().open(.init(url: start)).url == origin.url("/b"))
    }

    @Test func stopsBehindTwentyHops() async throws {
        let origin = try Origin()
        origin.otherwise { .redirect("/\((Int($0.target.dropFirst()) ?? 0) + 1)") }
        origin.on("/20", .ok([1]))
        #expect(try await client().open(.init(url: origin.url("/0"))).redirects == 20)
        origin.on("/20", .redirect("/21"))
        await #expect { try await client().open(.init(url: origin.url("/0"))) } throws: {
            guard case .refused(.redirect, _) = $0 as? ImageError else { return false }
            return true
        }
        #expect(origin.requests.count == 42)
    }

    @Test func sendsCredentialsToTheirOriginOnly() async throws {
        let origin = try Origin(addresses: ["127.0.0.1", "127.0.0.2"])
        origin.on("/a", .redirect("/b"))
        origin.on("/b", .redirect(origin.url("/c", address: "127.0.0.2").absoluteString))
        origin.on("/c", .redirect(origin.url("/d").absoluteString))
        origin.on("/d", .ok([1]))
        let fields: HTTPFields = ["Authorization": "Bearer t", "Cookie": "a=b", "X-Own": "1"]
        _ = try await client().open(.init(url: origin.url("/a"), fields: fields))
        #expect(origin.requests.map { $0["authorization"] } == ["Bearer t", "Bearer t", nil, nil])
        #expect(origin.requests.map { $0["cookie"] } == ["a=b", "a=b", nil, nil])
        #expect(origin.requests.allSatisfy { $0["x-own"] == "1" })
    }

    @Test func neitherSendsNorNamesUserInfo() async throws {
        let origin = try Origin()
        origin.on("/a", .redirect("http://eve:secret@127.0.0.1:\(origin.port)/b"))
        origin.on("/b", .redirect("file:///etc/passwd"))
        let url = try #require(URL(string: "http://user:secret@127.0.0.1:\(origin.port)/a#fragment"))
        await #expect { try await client().open(.init(url: url)) } throws: {
            guard let error = $0 as? ImageError else { return false }
            return error.url == origin.url("/b").absoluteString && !"\(error)".contains("secret")
        }
        #expect(origin.requests.map(\.target) == ["/a", "/b"])
        #expect(origin.requests.allSatisfy { $0["authorization"] == nil })
    }

    @Test(arguments: ["ftp://127.0.0.1/a", "file:///etc/passwd", "data:,x", "http://", "//x/y"])
    func refusesOtherURLs(text: String) async throws {
        let url = try #require(URL(string: text))
        await #expect { try await client().open(.init(url: url)) } throws: {
            ["refused", "invalid_url"].contains(($0 as? ImageError)?.code)
        }
    }

    @Test func asksNoHostThatIsNotAllowedOnAnyHop() async throws {
        let origin = try Origin(addresses: ["127.0.0.1", "127.0.0.2"])
        origin.on("/a", .redirect(origin.url("/b", address: "127.0.0.2").absoluteString))
        let hosts = HostPolicy(denied: [HostPolicy.Pattern("127.0.0.2")!])
        await #expect { try await client(hosts: hosts).open(.init(url: origin.url("/a"))) } throws: {
            guard case .refused(.host, let details) = $0 as? ImageError else { return false }
            return details.url == origin.url("/b", address: "127.0.0.2").absoluteString
        }
        #expect(origin.requests.map(\.target) == ["/a"])
    }

    /// The first hop is public, the second is not: here both are loopback, and a transport of the test's own stands
    /// in for the public one.
    @Test func judgesAddressesOnEveryHop() async throws {
        let transport = ScriptedTransport { request in
            #expect(request.url.host == "8.8.8.8")
            return .init(status: 302, fields: ["Location": "http://0x7f.1/"], body: ResponseBody())
        }
        let client = HTTPClient(transport: transport)
        let url = try #require(URL(string: "http://8.8.8.8/"))
        await #expect { try await client.open(.init(url: url, addresses: .publicOnly)) } throws: {
            guard case .refused(.address, _) = $0 as? ImageError else { return false }
            return true
        }
    }

    @Test func judgesTheAddressThatAnswered() async throws {
        let cancelled = Lock(false)
        let transport = ScriptedTransport { _ in
            let body = ResponseBody(onCancel: { cancelled.withLock { $0 = true } })
            return .init(status: 200, fields: [:], remoteAddress: "10.0.0.1", body: body)
        }
        let client = HTTPClient(transport: transport)
        let url = try #require(URL(string: "http://public.example/"))
        await #expect { try await client.open(.init(url: url, addresses: .publicOnly)) } throws: {
            guard case .refused(.address, _) = $0 as? ImageError else { return false }
            return true
        }
        #expect(cancelled.withLock { $0 })
        #expect(try await client.open(.init(url: url)).status == 200)
    }

    @Test func endsTheBodyAtTheTotalDeadline() async throws {
        let origin = try Origin()
        let time = ManualTime()
        let client = HTTPClient(transport: URLSessionTransport(), time: time)
        origin.on("/drip", OriginReply([.send(OriginReply.head(200)), .forever([1], pause: 20)]))
        let response = try await client.open(.init(url: origin.url("/drip"), deadlines: .init(total: 60)))
        await time.sleepers(1)
        time.advance(seconds: 61)
        await #expect { try await response.body.all() } throws: {
            guard case .timedOut(.total, _) = $0 as? ImageError else { return false }
            return true
        }
        await origin.connectionsClosed(atLeast: 1)
    }

    @Test func endsTheWaitForAHeadAtTheTotalDeadline() async throws {
        let origin = try Origin()
        let time = ManualTime()
        let client = HTTPClient(transport: URLSessionTransport(), time: time)
        let gate = Gate()
        origin.on("/loop", .redirect("/hold"))
        origin.on("/hold", OriginReply([.wait(gate), .hold]))
        let task = Task { try await client.open(.init(url: origin.url("/loop"), deadlines: .init(total: 60))) }
        await gate.reached()
        await time.sleepers(1)
        time.advance(seconds: 61)
        await #expect { try await task.value } throws: {
            guard case .timedOut(.total, let details) = $0 as? ImageError else { return false }
            return details.url == origin.url("/hold").absoluteString
        }
        gate.open()
        await origin.connectionsClosed(atLeast: 1)
    }

    @Test func passesCancellationOn() async throws {
        let origin = try Origin()
        let gate = Gate()
        origin.on("/a", OriginReply([.wait(gate), .hold]))
        let client = client()
        let task = Task { try await client.open(.init(url: origin.url("/a"))) }
        await gate.reached()
        task.cancel()
        await #expect { try await task.value } throws: { ($0 as? ImageError)?.code == "cancelled" }
        gate.open()
        await origin.allConnectionsClosed()
    }
}

/// A transport without a network.
struct ScriptedTransport: Transport {
    let name = "scripted"
    let answer: @Sendable (TransportRequest) async throws(ImageError) -> TransportResponse

    func open(_ request: TransportRequest) async throws(ImageError) -> TransportResponse {
        try await answer(request)
    }
}
