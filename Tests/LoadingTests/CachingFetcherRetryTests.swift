import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite(.timeLimit(.minutes(2))) struct CachingFetcherRetryTests {
    private typealias Fixture = CachingFetcherFixture

    private func fixture(
        over kind: TransportKind = .scripted, _ configuration: FetcherConfiguration = .init(), random: Double = 1,
        script: @escaping ScriptedTransport.Script
    ) throws -> Fixture {
        // Retries turn the clock, the watch over deadlines does not.
        try Fixture(
            over: kind, configuration: configuration, time: ManualTime(sleepsAdvance: true, leastAdvance: 0.2),
            random: random, script: script)
    }

    @Test(arguments: TransportKind.allCases)
    func whatMayPassIsTriedAgainLaterEachTime(_ kind: TransportKind)
        async throws
    {
        let fixture = try fixture(over: kind) { _, number in
            switch number {
            case 1: .fail(.unreachable(.init("reset")))
            case 2: .status(503)
            default: .ok(Fixture.png)
            }
        }
        let result = try await fixture.fetch()
        #expect(result.attempts == 3)
        let time = try #require(fixture.fetcher.time as? ManualTime)
        #expect(time.slept.filter { $0 >= 0.5 } == [0.5, 1])
    }

    @Test(arguments: [400, 401, 403, 404, 407, 410, 501])
    func whatCannotHelpIsNotTriedAgain(_ status: Int) async throws {
        let fixture = try fixture { _, _ in .status(status) }
        let error = await fixture.error()
        #expect(error?.code == "http_status" && error?.url == "http://example.com/a.png")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: TransportKind.allCases)
    func retriesEndWithTheirNumberAndTheDeadline(_ kind: TransportKind)
        async throws
    {
        let ended = try fixture(over: kind) { _, _ in .status(500) }
        #expect(await ended.error()?.code == "http_status")
        #expect(ended.transport.requests.count == 4)

        let late = try fixture(over: kind) { _, _ in .status(500) }
        var request = try late.request()
        request.deadlines.total = 1.2
        _ = try? await late.fetcher.fetch(request)
        #expect(late.transport.requests.count == 2)
    }

    @Test(arguments: TransportKind.allCases)
    func retryAfterIsKeptTo(_ kind: TransportKind) async throws {
        let fixture = try fixture(over: kind, random: 0) { _, number in
            number == 1 ? .status(429, ["Retry-After": "7"]) : .ok(Fixture.png)
        }
        _ = try await fixture.fetch()
        let time = try #require(fixture.fetcher.time as? ManualTime)
        #expect(time.slept.contains(7))

        let long = try self.fixture { _, _ in .status(503, ["Retry-After": "86400"]) }
        #expect(await long.error()?.details.retryAfter == 86_400)
        #expect(long.transport.requests.count == 1)
    }

    @Test(arguments: TransportKind.allCases)
    func aHostThatKeepsFailingIsRestedAndOthersAreNot(_ kind: TransportKind)
        async throws
    {
        var configuration = FetcherConfiguration()
        configuration.retries = .none
        configuration.breaker.threshold = 3
        let fixture = try fixture(over: kind, configuration) { request, _ in
            request.url.host == "good.example" ? .ok(Fixture.png) : .fail(.unreachable(.init("refused")))
        }
        for number in 0..<5 { #expect(await fixture.error("/\(number)")?.code == "unreachable") }
        #expect(fixture.transport.requests.count == 3)
        let good = FetchRequest(url: try NormalizedURL("http://good.example/a.png"))
        #expect(try await fixture.fetcher.fetch(good).source == .network)
    }

    @Test(arguments: TransportKind.allCases)
    func definitiveFailuresAreRememberedForAShortTimeAndTransientOnesNever(
        _ kind: TransportKind
    ) async throws {
        var configuration = FetcherConfiguration()
        configuration.retries = .none
        let fixture = try Fixture(over: kind, configuration: configuration) { request, _ in
            switch request.url.path {
            case "/missing": .status(404)
            case "/page": .ok(Array("<html>nothing here</html>".utf8))
            default: .status(503)
            }
        }
        for path in ["/missing", "/page", "/busy"] { #expect(await fixture.error(path) != nil) }
        let disk = try #require(fixture.disk)
        // Remembering is written behind the answer.
        for path in ["/missing", "/page"] {
            let key = try fixture.request(path).key
            while disk.rememberedFailure(key) == nil, !Task.isCancelled { await Task.yield() }
            let asked = fixture.transport.requests.count
            #expect(await fixture.error(path)?.details.detail.contains("remembered") == true)
            #expect(fixture.transport.requests.count == asked)
        }
        #expect(disk.rememberedFailure(try fixture.request("/busy").key) == nil)
    }

    // MARK: Cut transfers

    private let image = SampleImage.png(300_000)

    private func cut(_ etag: String = "\"a\"") -> ScriptedTransport.Reply {
        ScriptedTransport.Reply.ok(
            Array(image.prefix(200_000)), ["ETag": etag, "Content-Length": "300000", "Cache-Control": "max-age=60"]
        ).inPieces(of: 50_000).ending(.error(.truncated(.init("cut"))))
    }

    private func rest(_ fields: HTTPFields = [:]) -> ScriptedTransport.Reply {
        var all: HTTPFields = [
            "Content-Range": "bytes 200000-299999/300000", "Content-Length": "100000", "ETag": "\"a\"",
        ]
        all.fields += fields.fields
        return .status(206, all, Array(image.suffix(100_000)))
    }

    @Test(arguments: TransportKind.allCases)
    func aCutTransferIsContinuedWhereItStopped(_ kind: TransportKind)
        async throws
    {
        let fixture = try fixture(over: kind) { [self] _, number in number == 1 ? cut() : rest() }
        let result = try await fixture.fetch()
        #expect(try result.readPayload() == image)
        #expect(result.attempts == 2 && result.status == 200)
        let sent = fixture.transport.requests[1].fields
        #expect(sent["range"] == "bytes=200000-" && sent["if-range"] == "\"a\"")
        #expect(fixture.temporaryFiles.isEmpty)
        #expect(try await fixture.fetch().source == .disk)
    }

    @Test func theErrorOfACutBodyHasTheStatusOfItsHead() async throws {
        var configuration = FetcherConfiguration()
        configuration.retries = .none
        let fixture = try fixture(over: .scripted, configuration) { [self] _, number in
            number == 1 ? cut() : .fail(.timedOut(.connect, .init()))
        }
        #expect(await fixture.error("/b.png")?.details.status == 200)
        #expect(await fixture.error("/c.png")?.details.status == nil)
    }

    @Test(arguments: TransportKind.allCases)
    func itIsContinuedInALaterRunToo(_ kind: TransportKind) async throws {
        var configuration = FetcherConfiguration()
        configuration.retries = .none
        let fixture = try fixture(over: kind, configuration) { [self] _, number in number == 1 ? cut() : rest() }
        #expect(await fixture.error()?.code == "truncated")
        #expect(try await fixture.fetch().readPayload() == image)
    }

    @Test(arguments: TransportKind.allCases)
    func anotherVersionIsTakenWhole(_ kind: TransportKind) async throws {
        let other = SampleImage.png(300_000, seed: 9)
        let fixture = try fixture(over: kind) { [self] _, number in number == 1 ? cut() : .ok(other, ["ETag": "\"b\""])
        }
        #expect(try await fixture.fetch().readPayload() == other)
        #expect(fixture.temporaryFiles.isEmpty)
    }

    @Test(arguments: TransportKind.allCases)
    func a416OrAnotherPartBeginsAnew(_ kind: TransportKind) async throws {
        let wrong = rest(["X": "1"])
        for bad in [
            ScriptedTransport.Reply.status(416),
            .status(206, ["Content-Range": "bytes 0-99/300000"], [1, 2, 3]),
            .status(206, ["Content-Range": "bytes 200000-299999/300000", "ETag": "\"b\""], wrong.pieces[0]),
            .status(206, [:], wrong.pieces[0]),
        ] {
            let fixture = try fixture(over: kind) { [self] _, number in
                number == 1 ? cut() : number == 2 ? bad : .ok(image, ["ETag": "\"a\""])
            }
            #expect(try await fixture.fetch().readPayload() == image)
            #expect(fixture.transport.requests[2].fields["range"] == nil)
            #expect(fixture.temporaryFiles.isEmpty)
        }
    }

    @Test(arguments: TransportKind.allCases)
    func withoutAStrongValidatorNothingIsKept(_ kind: TransportKind)
        async throws
    {
        let fixture = try fixture(over: kind) { [self] _, number in number == 1 ? cut("W/\"a\"") : .ok(image) }
        #expect(try await fixture.fetch().readPayload() == image)
        #expect(fixture.transport.requests[1].fields["range"] == nil)
    }

    @Test(arguments: TransportKind.allCases)
    func aRestThatIsCutAgainIsContinuedAgain(_ kind: TransportKind)
        async throws
    {
        let fixture = try fixture(over: kind) { [self] _, number in
            switch number {
            case 1: return cut()
            case 2:
                return .status(
                    206, ["Content-Range": "bytes 200000-299999/300000", "ETag": "\"a\""],
                    Array(image[200_000..<250_000])
                ).ending(.error(.unreachable(.init("reset"))))
            default:
                return .status(
                    206, ["Content-Range": "bytes 250000-299999/300000", "ETag": "\"a\""], Array(image.suffix(50_000)))
            }
        }
        #expect(try await fixture.fetch().readPayload() == image)
        #expect(fixture.transport.requests[2].fields["range"] == "bytes=250000-")
    }
}
