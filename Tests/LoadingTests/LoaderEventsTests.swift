import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite struct LoaderEventsTests {
    typealias Fixture = ImageLoaderTests.Fixture

    static func names(_ events: [LoaderEvent]) -> [String] { events.map { name($0.kind) } }

    static func name(_ kind: LoaderEvent.Kind) -> String {
        switch kind {
        case .started: "started"
        case .coalesced: "coalesced"
        case .memoryHit: "memoryHit"
        case .diskHit(let isStale): isStale ? "staleHit" : "diskHit"
        case .revalidated: "revalidated"
        case .fetched: "fetched"
        case .decoded: "decoded"
        case .evicted: "evicted"
        case .finished(let source): "finished:\(source.rawValue)"
        case .failed(let error): "failed:\(error.code)"
        }
    }

    /// Everything up to the n-th end of a load.
    static func events(_ stream: AsyncStream<LoaderEvent>, count: Int) async -> [LoaderEvent] {
        var events: [LoaderEvent] = []
        for await event in stream {
            events.append(event)
            if events.count == count { break }
        }
        return events
    }

    @Test func theWayOfAnImageIsTold() async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture { request, _ in
            request.fields["If-None-Match"] == nil
                ? .ok(png, ["Cache-Control": "max-age=60", "ETag": "\"1\""]) : .status(304, ["ETag": "\"1\""])
        }
        let stream = fixture.loader.events.stream()
        let request = ImageRequest(url: ImageLoaderTests.url)
        _ = try await fixture.loader.image(for: request)
        _ = try await fixture.loader.image(for: request)
        fixture.loader.memory.removeAll()
        _ = try await fixture.loader.image(for: request)
        fixture.time.advance(seconds: 61)
        _ = try await fixture.loader.image(for: request)
        let events = await Self.events(stream, count: 12)
        #expect(
            Self.names(events) == [
                "started", "fetched", "decoded", "finished:network", "memoryHit",
                "started", "diskHit", "decoded", "finished:disk",
                "started", "revalidated", "finished:revalidated",
            ])
        guard case .fetched(let bytes, let attempts) = events[1].kind,
            case .decoded(let width, let height) = events[2].kind
        else { return }
        #expect((bytes, attempts) == (png.count, 1))
        #expect((width, height) == (40, 30))
        #expect(events.allSatisfy { $0.key == fixture.loader.memoryKey(for: request) })

        let counters = fixture.loader.events.counters
        #expect((counters.started, counters.finished, counters.failed) == (3, 3, 0))
        #expect((counters.memoryHits, counters.diskHits, counters.revalidated) == (1, 1, 1))
        #expect((counters.fetched, counters.fetchedBytes, counters.decoded) == (1, png.count, 2))
    }

    @Test func whatIsSharedFailsOrIsCancelledIsTold() async throws {
        let valve = ScriptedTransport.Valve()
        let fixture = try Fixture { request, _ in
            request.url.path == "/404"
                ? ScriptedTransport.Reply.status(404).headHeld(by: valve)
                : ScriptedTransport.Reply.ok(SampleImage.pngBeginning).ending(.held(ScriptedTransport.Valve()))
        }
        let events = fixture.loader.events
        let missing = ImageRequest(url: try #require(URL(string: "http://img.example/404")))
        let tasks = [fixture.loader.task(for: missing), fixture.loader.task(for: missing)]
        valve.open()
        for task in tasks { await #expect(throws: ImageError.self) { try await task.image } }
        #expect((events.counters.started, events.counters.coalesced, events.counters.failed) == (1, 1, 1))

        let other = fixture.loader.task(for: ImageRequest(url: ImageLoaderTests.url))
        await fixture.transport.requests(atLeast: 2)
        other.cancel()
        while events.counters.cancelled == 0, !Task.isCancelled { await Task.yield() }
        #expect(events.counters.failed == 1)
    }

    @Test func secondsAreThoseOfTheClock() async throws {
        let png = try ImageLoaderTests.png()
        let valve = ScriptedTransport.Valve()
        let fixture = try Fixture { _, _ in ScriptedTransport.Reply.ok(png).headHeld(by: valve) }
        let stream = fixture.loader.events.stream()
        let task = fixture.loader.task(for: ImageRequest(url: ImageLoaderTests.url))
        await fixture.transport.requests(atLeast: 1)
        fixture.time.advance(seconds: 2)
        valve.open()
        _ = try await task.image
        let events = await Self.events(stream, count: 4)
        #expect(events.map(\.seconds) == [0, 2, 0, 2])
        #expect(fixture.loader.events.counters.fetchSeconds == 2)
    }

    @Test func evictionsAreTold() async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture(change: { $0.memory.countLimit = 2 }, script: { _, _ in .ok(png) })
        for request in try PrefetcherTests.requests(0..<5) { _ = try await fixture.loader.image(for: request) }
        #expect(fixture.loader.events.counters.evicted == 3)
        fixture.loader.memory.empty()
        #expect(fixture.loader.events.counters.evicted == 5)
    }

    @Test func aSlowReaderLosesTheOldestAndAStreamEndsWithItsReaderOrTheLoader() async throws {
        let png = try ImageLoaderTests.png()
        var fixture: Fixture? = try Fixture { _, _ in .ok(png) }
        let events = try #require(fixture?.loader.events)
        let slow = events.stream(limit: 2)
        do {
            let left = events.stream()
            var iterator = left.makeAsyncIterator()
            _ = try await fixture?.loader.image(for: ImageRequest(url: ImageLoaderTests.url))
            _ = await iterator.next()
        }
        #expect(events.streamCount == 1, "who leaves is forgotten")
        fixture = nil
        _ = consume events
        var names: [String] = []
        for await event in slow { names.append(Self.name(event.kind)) }
        #expect(names == ["decoded", "finished:network"])
    }
}
