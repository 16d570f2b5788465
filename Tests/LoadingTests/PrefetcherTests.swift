import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite(.timeLimit(.minutes(2))) struct PrefetcherTests {
    typealias Fixture = ImageLoaderTests.Fixture

    static func requests(_ range: Range<Int>) throws -> [ImageRequest] {
        try range.map { ImageRequest(url: try #require(URL(string: "http://img.example/\($0).png"))) }
    }

    @Test(arguments: TransportKind.allCases)
    func whatIsPrefetchedIsThereAtOnce(_ kind: TransportKind) async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture(over: kind) { _, _ in .ok(png) }
        let prefetcher = Prefetcher(loader: fixture.loader)
        let requests = try Self.requests(0..<10)
        prefetcher.start(requests + requests)
        await prefetcher.finish()
        #expect(fixture.transport.requests.count == 10)
        #expect(requests.allSatisfy { fixture.loader.cachedImage(for: $0) != nil })
        #expect(prefetcher.count == 0)
    }

    @Test(arguments: TransportKind.allCases)
    func toDiskNothingIsDecoded(_ kind: TransportKind) async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture(over: kind) { _, _ in .ok(png) }
        let prefetcher = Prefetcher(loader: fixture.loader, destination: .disk)
        let requests = try Self.requests(0..<3)
        prefetcher.start(requests)
        await prefetcher.finish()
        #expect(requests.allSatisfy { fixture.loader.cachedImage(for: $0) == nil })
        for request in requests { #expect(try await fixture.loader.image(for: request).source == .disk) }
    }

    @Test(arguments: TransportKind.allCases)
    func noMoreThanAllowedRunAtOnceAndWhatIsStoppedNeverBegins(
        _ kind: TransportKind
    ) async throws {
        let png = try ImageLoaderTests.png()
        let valve = ScriptedTransport.Valve()
        let fixture = try Fixture(over: kind) { _, _ in ScriptedTransport.Reply.ok(png).headHeld(by: valve) }
        let prefetcher = Prefetcher(loader: fixture.loader, maxConcurrent: 2)
        let requests = try Self.requests(0..<6)
        prefetcher.start(requests)
        await fixture.transport.requests(atLeast: 2)
        prefetcher.stop(Array(requests[3...]))
        #expect(prefetcher.count == 3)
        valve.open()
        await prefetcher.finish()
        #expect(fixture.transport.requests.count == 3)
        #expect(fixture.transport.mostRunning == 2)
    }

    @Test(arguments: TransportKind.allCases)
    func whilePausedNothingBegins(_ kind: TransportKind) async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture(over: kind) { _, _ in .ok(png) }
        let prefetcher = Prefetcher(loader: fixture.loader)
        prefetcher.isPaused = true
        prefetcher.start(try Self.requests(0..<3))
        #expect(prefetcher.count == 3)
        #expect(fixture.transport.requests.isEmpty)
        prefetcher.isPaused = false
        await prefetcher.finish()
        #expect(fixture.transport.requests.count == 3)
    }

    @Test(arguments: TransportKind.allCases)
    func stoppingEverythingEndsTheTransfers(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { _, _ in
            ScriptedTransport.Reply.ok([1]).ending(.held(ScriptedTransport.Valve()))
        }
        let prefetcher = Prefetcher(loader: fixture.loader, maxConcurrent: 2)
        prefetcher.start(try Self.requests(0..<5))
        await fixture.transport.requests(atLeast: 2)
        prefetcher.stopAll()
        await prefetcher.finish()
        #expect(fixture.transport.requests.count == 2)
        #expect(fixture.loader.fetcher.flightCount == 0)
    }
}
