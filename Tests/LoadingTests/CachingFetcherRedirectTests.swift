import Foundation
import TestSupport
import Testing

@testable import Larder

/// What holds for the host that is asked holds for every host that a redirect leads to.
@Suite(.timeLimit(.minutes(1))) struct CachingFetcherRedirectTests {
    private typealias Fixture = CachingFetcherFixture
    private typealias Valve = ScriptedTransport.Valve

    private static let allows = ScriptedTransport.Reply.ok(Array("user-agent: *\nallow: /".utf8))
    private static let forbids = ScriptedTransport.Reply.ok(Array("user-agent: *\ndisallow: /".utf8))

    @Test(arguments: TransportKind.allCases)
    func robotsOfTheHostThatIsAskedAreKeptTo(_ kind: TransportKind)
        async throws
    {
        var configuration = FetcherConfiguration()
        configuration.keepsRobots = true
        let fixture = try Fixture(over: kind, configuration: configuration) { request, _ in
            request.url.path == "/robots.txt" ? Self.forbids : .ok(Fixture.png)
        }
        guard case .refused(.robots, _) = await fixture.error() else {
            Issue.record("the image was fetched")
            return
        }
        #expect(fixture.transport.requests.map(\.url.path) == ["/robots.txt"])
        #expect(fixture.transport.requests.first?.fields["User-Agent"] == LarderVersion.userAgent)
    }

    @Test(arguments: TransportKind.allCases)
    func robotsOfEachHopAreKeptTo(_ kind: TransportKind) async throws {
        var configuration = FetcherConfiguration()
        configuration.keepsRobots = true
        let fixture = try Fixture(over: kind, configuration: configuration) { request, _ in
            switch (request.url.host ?? "", request.url.path) {
            case ("example.com", "/robots.txt"): Self.allows
            case ("cdn.example.com", "/robots.txt"): Self.forbids
            case ("example.com", _): .status(302, ["Location": "http://cdn.example.com/a.png"])
            default: .ok(Fixture.png)
            }
        }
        guard case .refused(.robots, _) = await fixture.error() else {
            Issue.record("the image was fetched")
            return
        }
        #expect(
            fixture.transport.requests.map(\.url.absoluteString) == [
                "http://example.com/robots.txt", "http://example.com/a.png", "http://cdn.example.com/robots.txt",
            ])
    }

    /// One request at a time to a host: two that are led to the same host from two others take turns there.
    @Test(arguments: TransportKind.allCases)
    func theLimitOfAHostCountsThoseThatWereLedToIt(_ kind: TransportKind)
        async throws
    {
        var configuration = FetcherConfiguration()
        configuration.limits = HostLimiter.Limits(total: 8, perHost: 1)
        let valve = Valve()
        let fixture = try Fixture(over: kind, configuration: configuration) { request, _ in
            if request.url.host != "cdn.example.com" {
                return .status(302, ["Location": "http://cdn.example.com" + request.url.path])
            }
            return ScriptedTransport.Reply.ok(Fixture.png).headHeld(by: valve)
        }
        let both = try ["http://a.example.com/1", "http://b.example.com/2"].map { text in
            let request = FetchRequest(url: try NormalizedURL(text), deadlines: Deadlines(total: 1e7))
            return Task { try await fixture.fetcher.fetch(request) }
        }
        await fixture.transport.requests(atLeast: 3)
        // The hosts that led there are free again: only the one at the end is held, and one waits for it.
        while fixture.fetcher.limiter.counts.waiting == 0, !Task.isCancelled { await Task.yield() }
        #expect(fixture.fetcher.limiter.counts.running == 1)
        #expect(fixture.transport.requests.filter { $0.url.host == "cdn.example.com" }.count == 1)
        valve.open()
        for task in both { #expect(try await task.value.source == .network) }
        #expect(fixture.transport.requests.count == 4)
        #expect(fixture.fetcher.limiter.counts == (0, 0, 0))
    }

    /// The host that fails rests, not the one that led to it.
    @Test(arguments: TransportKind.allCases)
    func aFailureIsLaidToTheHostThatFailed(_ kind: TransportKind) async throws {
        var configuration = FetcherConfiguration()
        configuration.retries = .none
        configuration.breaker.threshold = 1
        let fixture = try Fixture(over: kind, configuration: configuration) { request, _ in
            switch (request.url.host ?? "", request.url.path) {
            case ("example.com", "/led"): .status(302, ["Location": "http://cdn.example.com/a.png"])
            case ("example.com", _): .ok(Fixture.png)
            default: .status(503)
            }
        }
        #expect(await fixture.error("/led")?.code == "http_status")
        #expect(try await fixture.fetch("/own").source == .network)
        let asked = fixture.transport.requests.count
        #expect(await fixture.error("/led")?.code == "unreachable")
        #expect(fixture.transport.requests.count == asked + 1)
        #expect(fixture.fetcher.limiter.counts == (0, 0, 0))
        // Being refused because it rests is no further failure: once the rest is over it is asked again.
        fixture.time.advance(seconds: 6)
        #expect(await fixture.error("/led")?.code == "http_status")
        #expect(fixture.transport.requests.count == asked + 3)
    }

    @Test(arguments: TransportKind.allCases)
    func credentialsOfAnyNameStayWithTheirOrigin(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { request, _ in
            request.url.host == "example.com"
                ? .status(302, ["Location": "http://cdn.example.com/a.png"]) : .ok(Fixture.png)
        }
        let fields: HTTPFields = ["X-Api-Key": "k", "Authorization": "a", "X-Auth-Token": "t", "X-Plain": "p"]
        _ = try await fixture.fetch(fields: fields)
        let (first, second) = (fixture.transport.requests[0].fields, fixture.transport.requests[1].fields)
        for name in ["X-Api-Key", "Authorization", "X-Auth-Token"] {
            #expect(first[name] != nil)
            #expect(second[name] == nil)
        }
        #expect(second["X-Plain"] == "p")
    }
}
