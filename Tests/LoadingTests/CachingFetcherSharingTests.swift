import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite(.timeLimit(.minutes(2))) struct CachingFetcherSharingTests {
    private typealias Fixture = CachingFetcherFixture
    private typealias Valve = ScriptedTransport.Valve

    @Test(arguments: TransportKind.allCases)
    func requestsForTheSameShareOneFetch(_ kind: TransportKind) async throws {
        let valve = Valve()
        let fixture = try Fixture(over: kind) { _, _ in
            .ok(Fixture.png, ["Cache-Control": "max-age=60"]).headHeld(by: valve)
        }
        let request = try fixture.request()
        let fetches = (0..<5).map { _ in fixture.fetcher.begin(request) }
        await fixture.transport.requests(atLeast: 1)
        valve.open()
        var shared = 0
        for fetch in fetches {
            let result = try await fetch.result()
            #expect(try result.readPayload() == Fixture.png)
            if result.isShared { shared += 1 }
        }
        #expect(shared == 4)
        #expect(fixture.transport.requests.count == 1)
        #expect(fixture.fetcher.flightCount == 0)
    }

    @Test(arguments: TransportKind.allCases)
    func otherFieldsAreAnotherFetch(_ kind: TransportKind) async throws {
        let valve = Valve()
        let fixture = try Fixture(over: kind) { _, _ in .ok(Fixture.png).headHeld(by: valve) }
        let first = fixture.fetcher.begin(try fixture.request(fields: ["Accept": "a"]))
        let second = fixture.fetcher.begin(try fixture.request(fields: ["Accept": "b"]))
        await fixture.transport.requests(atLeast: 2)
        valve.open()
        _ = try await (first.result(), second.result())
    }

    @Test(arguments: TransportKind.allCases)
    func cancellingOneOfSeveralLeavesTheOthers(_ kind: TransportKind)
        async throws
    {
        let valve = Valve()
        let fixture = try Fixture(over: kind) { _, _ in .ok(Fixture.png).headHeld(by: valve) }
        let request = try fixture.request()
        let leaving = Task { try await fixture.fetcher.fetch(request) }
        await fixture.transport.requests(atLeast: 1)
        let staying = fixture.fetcher.begin(request)
        leaving.cancel()
        let error = await #expect(throws: ImageError.self) { try await leaving.value }
        #expect(error?.code == "cancelled")
        valve.open()
        #expect(try await staying.result().readPayload() == Fixture.png)
        #expect(fixture.transport.cancelled == 0)
    }

    @Test(arguments: TransportKind.allCases)
    func cancellingTheLastStopsTheTransferAndLeavesNothing(
        _ kind: TransportKind
    ) async throws {
        let valve = Valve()
        var configuration = FetcherConfiguration()
        configuration.batchBytes = 1000
        let fixture = try Fixture(over: kind, configuration: configuration) { _, _ in
            .ok(SampleImage.png(200_000), ["ETag": "\"a\""]).inPieces(of: 50_000).ending(.held(valve))
        }
        let request = try fixture.request()
        let begun = Valve()
        let task = Task { try await fixture.fetcher.fetch(request) { _ in begun.open() } }
        await begun.opened()
        task.cancel()
        _ = try? await task.value
        await fixture.transport.cancelled(atLeast: 1)
        while fixture.fetcher.flightCount > 0 || !fixture.temporaryFiles.isEmpty, !Task.isCancelled {
            await Task.yield()
        }
        #expect(fixture.disk?.entry(for: request.key) == nil)
        // Who comes later begins anew.
        let again = fixture.fetcher.begin(request)
        await fixture.transport.requests(atLeast: 2)
        valve.open()
        #expect(try await again.result().payloadLength == 200_000)
    }

    @Test(arguments: TransportKind.allCases)
    func aFetchThatNobodyWaitsForIsGivenUp(_ kind: TransportKind) async throws {
        let valve = Valve()
        let fixture = try Fixture(over: kind) { _, _ in .ok(Fixture.png).ending(.held(valve)) }
        var fetch: CachingFetcher.Fetch? = fixture.fetcher.begin(try fixture.request())
        await fixture.transport.requests(atLeast: 1)
        #expect(fetch != nil)
        fetch = nil
        await fixture.transport.cancelled(atLeast: 1)
    }

    @Test(arguments: TransportKind.allCases)
    func cancelledWhileWaitingForATurnAsksNothing(_ kind: TransportKind)
        async throws
    {
        let valve = Valve()
        var configuration = FetcherConfiguration()
        configuration.limits.perHost = 1
        let fixture = try Fixture(over: kind, configuration: configuration) { _, _ in
            .ok(Fixture.png).headHeld(by: valve)
        }
        let first = fixture.fetcher.begin(try fixture.request("/1"))
        await fixture.transport.requests(atLeast: 1)
        let request = try fixture.request("/2")
        let second = Task { try await fixture.fetcher.fetch(request) }
        while fixture.fetcher.limiter.counts.waiting == 0, !Task.isCancelled { await Task.yield() }
        second.cancel()
        _ = try? await second.value
        valve.open()
        _ = try await first.result()
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: TransportKind.allCases)
    func noMoreThanTheLimitGoToOneHostAndTheVisibleGoFirst(
        _ kind: TransportKind
    ) async throws {
        let (valve, next) = (Valve(), Valve())
        var configuration = FetcherConfiguration()
        configuration.limits = HostLimiter.Limits(total: 2, perHost: 2)
        let fixture = try Fixture(over: kind, configuration: configuration) { _, number in
            let reply = ScriptedTransport.Reply.ok(Fixture.png)
            return number <= 4 ? reply.headHeld(by: number <= 2 ? valve : next) : reply
        }
        var fetches: [CachingFetcher.Fetch] = []
        for number in 0..<5 {
            var request = try fixture.request("/\(number)")
            request.priority = .veryLow
            fetches.append(fixture.fetcher.begin(request))
            if number == 1 { await fixture.transport.requests(atLeast: 2) }
            while number > 1, fixture.fetcher.limiter.counts.waiting < number - 1, !Task.isCancelled {
                await Task.yield()
            }
        }
        fetches[4].setPriority(.veryHigh)
        valve.open()
        // Two places become free at once: it has one of them, whichever of the two asks first.
        await fixture.transport.requests(atLeast: 4)
        #expect(fixture.transport.requests[2...3].contains { $0.url.path == "/4" })
        next.open()
        for fetch in fetches { _ = try await fetch.result() }
        #expect(fixture.transport.mostRunning <= 2)
    }
}
