import Foundation
import TestSupport
import Testing

@testable import Larder

/// Two processes on one directory, each with a tier and a fetcher of its own, want the same image.
@Suite struct CachingFetcherTurnTests {
    private typealias Fixture = CachingFetcherFixture
    private typealias Valve = ScriptedTransport.Valve

    /// What stands for the other process.
    private struct Other {
        let transport: ScriptedTransport
        let fetcher: CachingFetcher
        let events = Fixture.EventLog()
        /// Its own, so that who sleeps on it is known.
        let time = ManualTime()

        init(_ fixture: Fixture, script: @escaping ScriptedTransport.Script) throws {
            transport = ScriptedTransport(script)
            var configuration = FetcherConfiguration()
            configuration.retries.maxRetries = 0
            let events = events
            configuration.observer = { event, _ in events.add(event) }
            fetcher = CachingFetcher(
                client: HTTPClient(transport: transport, time: time),
                disk: try DiskTier(directory: fixture.directory.path, time: time),
                executor: BlockingExecutor(name: "other", width: 2), configuration: configuration,
                time: time)
        }
    }

    private static let fresh: HTTPFields = ["Cache-Control": "max-age=60"]

    /// Also what lies under the key of private answers.
    @Test(arguments: [false, true], [false, true])
    func oneFetchesAndTheOtherReads(isAfterMiss: Bool, isPrivate: Bool) async throws {
        let valve = Valve()
        let fields = isPrivate ? ["Cache-Control": "private, max-age=60"] : Self.fresh
        let fixture = try Fixture { _, _ in .ok(Fixture.png, fields).headHeld(by: valve) }
        let other = try Other(fixture) { _, _ in .ok(Fixture.png, Self.fresh) }
        var request = try fixture.request()
        request.isAfterMiss = isAfterMiss
        let first = fixture.fetcher.begin(request)
        await fixture.transport.requests(atLeast: 1)
        let second = other.fetcher.begin(request)
        await other.time.sleepers(1)
        #expect(other.transport.requests.isEmpty)
        valve.open()
        #expect(try await first.result().source == .network)
        other.time.advance(seconds: 1)
        let result = try await second.result()
        #expect(result.source == .disk)
        #expect(try result.readPayload() == Fixture.png)
        #expect(other.transport.requests.isEmpty)
        #expect(other.events.names == ["waiting", "hit", "answered"])
        #expect(fixture.temporaryFiles == [])
    }

    /// Between the miss and the turn another has stored it, and let the turn go.
    @Test func whatWasMissedIsLookedForOnceMore() async throws {
        let fixture = try Fixture { _, _ in .ok(Fixture.png, Self.fresh) }
        let other = try Other(fixture) { _, _ in .ok(Fixture.png, Self.fresh) }
        var request = try fixture.request()
        #expect(other.fetcher.storedAndFresh(for: request) == nil)
        _ = try await fixture.fetcher.fetch(request)
        request.isAfterMiss = true
        #expect(try await other.fetcher.fetch(request).source == .disk)
        #expect(other.transport.requests.isEmpty)
        // Its turn is over.
        #expect(fixture.fetcher.disk?.tryLock(for: request.key) != nil)
    }

    @Test func whoWaitsFetchesWhereTheOtherHasFailed() async throws {
        let valve = Valve()
        let fixture = try Fixture { _, _ in .status(500).headHeld(by: valve) }
        let other = try Other(fixture) { _, _ in .ok(Fixture.png, Self.fresh) }
        let request = try fixture.request()
        let first = Task { try await fixture.fetcher.fetch(request) }
        await fixture.transport.requests(atLeast: 1)
        let second = other.fetcher.begin(request)
        await other.time.sleepers(1)
        first.cancel()
        valve.open()
        _ = try? await first.value
        // The fetch that was given up ends a little later, and with it its turn.
        while fixture.fetcher.disk?.tryLock(for: request.key) == nil, !Task.isCancelled { await Task.yield() }
        other.time.advance(seconds: 1)
        #expect(try await second.result().source == .network)
        #expect(other.transport.requests.count == 1)
    }

    /// One that is stopped, or slow, costs the other half of its time and not the image.
    @Test func nobodyWaitsForEver() async throws {
        let valve = Valve()
        let fixture = try Fixture { _, _ in .ok(Fixture.png, Self.fresh).headHeld(by: valve) }
        let other = try Other(fixture) { _, _ in .ok(Fixture.png, Self.fresh) }
        var request = try fixture.request()
        let first = fixture.fetcher.begin(request)
        await fixture.transport.requests(atLeast: 1)
        request.deadlines = Deadlines(total: 60)
        let second = other.fetcher.begin(request)
        await other.time.sleepers(1)
        other.time.advance(seconds: 29)
        await other.time.sleepers(1)
        #expect(other.transport.requests.isEmpty)
        other.time.advance(seconds: 2)
        #expect(try await second.result().source == .network)
        valve.open()
        _ = try await first.result()
    }

    @Test func waitingCanBeCancelledAndLeavesNothing() async throws {
        let valve = Valve()
        let fixture = try Fixture { _, _ in .ok(Fixture.png, Self.fresh).headHeld(by: valve) }
        let other = try Other(fixture) { _, _ in .ok(Fixture.png, Self.fresh) }
        let request = try fixture.request()
        let first = fixture.fetcher.begin(request)
        await fixture.transport.requests(atLeast: 1)
        let second = Task { try await other.fetcher.fetch(request) }
        await other.time.sleepers(1)
        second.cancel()
        let error = await #expect(throws: ImageError.self) { try await second.value }
        #expect(error?.code == "cancelled")
        valve.open()
        _ = try await first.result()
        #expect(try await other.fetcher.fetch(request).source == .disk)
        #expect(other.fetcher.fetching.begin(request.key))
    }

    /// A reload is for each who asks, and so is other content than images.
    @Test func aReloadDoesNotWait() async throws {
        let valve = Valve()
        let fixture = try Fixture { _, _ in .ok(Fixture.png, Self.fresh).headHeld(by: valve) }
        let other = try Other(fixture) { _, _ in .ok(Fixture.png, Self.fresh) }
        let first = fixture.fetcher.begin(try fixture.request())
        await fixture.transport.requests(atLeast: 1)
        #expect(try await other.fetcher.fetch(try fixture.request(policy: .reload)).source == .network)
        var any = try fixture.request()
        any.content = .any
        any.fields = ["Cache-Control": "no-cache"]
        #expect(try await other.fetcher.fetch(any).source == .network)
        valve.open()
        _ = try await first.result()
    }

    /// A beginning that was taken over and then not even asked for stays for the next.
    @Test func aBeginningOutlivesAFetchThatIsRefused() async throws {
        let body = SampleImage.png(300_000)
        var configuration = FetcherConfiguration()
        configuration.retries.maxRetries = 0
        configuration.breaker.threshold = 1
        let fixture = try Fixture(configuration: configuration) { _, _ in
            .ok(Array(body.prefix(200_000)), ["ETag": "\"a\"", "Content-Length": "300000"]).inPieces(of: 50_000)
                .ending(.error(.unreachable(.init("reset"))))
        }
        #expect(await fixture.error() != nil)
        let kept = fixture.temporaryFiles.filter { $0.hasSuffix(".part") }
        #expect(kept.count == 1)
        // The host rests now.
        #expect(await fixture.error() != nil)
        #expect(fixture.transport.requests.count == 1)
        #expect(fixture.temporaryFiles == kept)
        _ = await fixture.fetcher.freshEntry(for: try fixture.request())
        #expect(fixture.temporaryFiles == kept)
    }
}
