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

    /// Validators say nothing of another resource: a 304 from where a redirect leads now does not confirm what came
    /// from where it led before.
    @Test(arguments: TransportKind.allCases)
    func a304ConfirmsOnlyWhatCameFromThere(_ kind: TransportKind) async throws {
        let (old, new) = (Fixture.png, SampleImage.png(200, seed: 9))
        let fixture = try Fixture(over: kind) { request, number in
            switch request.url.path {
            case "/latest": .status(302, ["Location": number == 1 ? "/1.png" : "/2.png"])
            case "/1.png": .ok(old, ["ETag": "\"a\"", "Cache-Control": "no-cache"])
            default:
                request.fields["if-none-match"] == nil
                    ? .ok(new, ["ETag": "\"a\"", "Cache-Control": "no-cache"]) : .status(304, ["ETag": "\"a\""])
            }
        }
        #expect(try await fixture.fetch("/latest").readPayload() == old)
        #expect(try await fixture.fetch("/latest").readPayload() == new)
        let again = try await fixture.fetch("/latest")
        #expect(again.source == .revalidated)
        #expect(try again.readPayload() == new)
    }

    @Test(arguments: TransportKind.allCases)
    func theRestOfAnotherResourceIsNotAppended(_ kind: TransportKind) async throws {
        let (old, new) = (SampleImage.png(300_000), SampleImage.png(300_000, seed: 9))
        var configuration = FetcherConfiguration()
        configuration.retries = .none
        let fixture = try Fixture(over: kind, configuration: configuration) { request, number in
            switch request.url.path {
            case "/latest": return .status(302, ["Location": number == 1 ? "/1.png" : "/2.png"])
            case "/1.png":
                return ScriptedTransport.Reply.ok(
                    Array(old.prefix(200_000)), ["ETag": "\"a\"", "Content-Length": "300000"]
                ).inPieces(of: 50_000).ending(.error(.truncated(.init("cut"))))
            default:
                guard request.fields["range"] != nil else { return .ok(new, ["ETag": "\"a\""]) }
                return .status(
                    206, ["Content-Range": "bytes 200000-299999/300000", "ETag": "\"a\""], Array(new.suffix(100_000)))
            }
        }
        #expect(await fixture.error("/latest")?.code == "truncated")
        #expect(try await fixture.fetch("/latest").readPayload() == new)
        #expect(fixture.temporaryFiles.isEmpty)
    }

    /// Signed URLs: the caller says that they name one picture.
    @Test func underAKeyOfTheCallersOwnURLsMayChange() async throws {
        let fixture = try Fixture { request, _ in
            request.fields["if-none-match"] == nil
                ? .ok(Fixture.png, ["ETag": "\"a\"", "Cache-Control": "no-cache"]) : .status(304, ["ETag": "\"a\""])
        }
        for (signature, source) in [("1", LoadedImage.Source.network), ("2", .revalidated)] {
            var request = try fixture.request("/a.png?signature=\(signature)")
            request.cacheKey = "a"
            #expect(try await fixture.fetcher.fetch(request).source == source)
        }
    }

    /// The body of an error is read so that its connection can be used again, but not waited for.
    @Test func theBodyOfAnErrorIsNotWaitedFor() async throws {
        let time = ManualTime()
        let fixture = try Fixture(time: time) { _, _ in
            ScriptedTransport.Reply.status(404, ["Content-Length": "100"], [1, 2, 3]).ending(.held(Valve()))
        }
        let error = Task { await fixture.error() }
        await fixture.transport.requests(atLeast: 1)
        while fixture.transport.cancelled == 0, time.monotonic < 60_000_000_000 {
            await time.sleepers(1)
            time.advance(seconds: 0.1)
        }
        if fixture.transport.cancelled == 0 { error.cancel() }
        #expect(await error.value?.code == "http_status")
        #expect(time.monotonic < 60_000_000_000)
    }
}
