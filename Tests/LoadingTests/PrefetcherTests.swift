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
            ScriptedTransport.Reply.ok(SampleImage.pngBeginning).ending(.held(ScriptedTransport.Valve()))
        }
        let prefetcher = Prefetcher(loader: fixture.loader, maxConcurrent: 2)
        prefetcher.start(try Self.requests(0..<5))
        await fixture.transport.requests(atLeast: 2)
        prefetcher.stopAll()
        await prefetcher.finish()
        #expect(fixture.transport.requests.count == 2)
        #expect(fixture.loader.fetcher.flightCount == 0)
    }

    /// The old load may still be ending when the row comes back.
    @Test func whatWasStoppedCanBeStartedAgainAtOnce() async throws {
        let png = try ImageLoaderTests.png()
        let valve = ScriptedTransport.Valve()
        let fixture = try Fixture { _, number in
            number == 1 ? ScriptedTransport.Reply.ok(png).ending(.held(valve)) : .ok(png)
        }
        let prefetcher = Prefetcher(loader: fixture.loader, maxConcurrent: 1)
        let requests = try Self.requests(0..<1)
        prefetcher.start(requests)
        await fixture.transport.requests(atLeast: 1)
        prefetcher.stop(requests)
        #expect(prefetcher.count == 0)
        prefetcher.start(requests)
        // The first load may not have ended yet, and is then joined.
        valve.open()
        await prefetcher.finish()
        #expect(fixture.loader.cachedImage(for: requests[0]) != nil)
    }

    /// A row that leaves the view hands its load on, however much is prefetched.
    @Test func whatIsUnderWayIsJoinedAtOnce() async throws {
        let png = try ImageLoaderTests.png()
        let valve = ScriptedTransport.Valve()
        let fixture = try Fixture { _, _ in ScriptedTransport.Reply.ok(png).ending(.held(valve)) }
        let prefetcher = Prefetcher(loader: fixture.loader, maxConcurrent: 1)
        let requests = try Self.requests(0..<3)
        prefetcher.start([requests[0]])
        let row = fixture.loader.task(for: requests[2])
        await fixture.transport.requests(atLeast: 2)
        prefetcher.start([requests[1], requests[2]])
        row.cancel()
        #expect(fixture.loader.fetcher.flightCount == 2)
        valve.open()
        await prefetcher.finish()
        #expect(requests.allSatisfy { fixture.loader.cachedImage(for: $0) != nil })
        #expect(fixture.transport.requests.count == 3)
        #expect(fixture.transport.cancelled == 0)
    }

    @Test func aWindowIsFollowed() async throws {
        let valve = ScriptedTransport.Valve()
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture { _, _ in ScriptedTransport.Reply.ok(png).ending(.held(valve)) }
        let prefetcher = Prefetcher(loader: fixture.loader, maxConcurrent: 2)
        let requests = try Self.requests(0..<100)
        var window = ListWindow(.init(ahead: 4, behind: 0, maximum: 4))
        prefetcher.update(window.update(visible: 0..<5, count: 100)) { requests[$0] }
        #expect(prefetcher.count == 4, "rows in view are the list's own")
        await fixture.transport.requests(atLeast: 2)
        prefetcher.update(window.update(visible: 50..<55, count: 100)) { $0 == 57 ? nil : requests[$0] }
        #expect(prefetcher.count == 3)
        await fixture.transport.cancelled(atLeast: 2)
        valve.open()
        await prefetcher.finish()
        let rows = fixture.transport.requests.map(\.url.lastPathComponent)
        #expect(rows.sorted() == ["5.png", "55.png", "56.png", "58.png", "6.png"])
    }

    /// Two rows of a list that show one picture: it is given up with the second.
    @Test func anImageOfSeveralRowsGoesWithTheLastOfThem() async throws {
        let fixture = try Fixture { _, _ in
            ScriptedTransport.Reply.ok(SampleImage.pngBeginning).ending(.held(ScriptedTransport.Valve()))
        }
        let prefetcher = Prefetcher(loader: fixture.loader)
        let request = try #require(Self.requests(0..<1).first)
        var change = ListWindow.Change()
        change.prefetch = [5, 6, 7]
        prefetcher.update(change) { _ in request }
        await fixture.transport.requests(atLeast: 1)
        for (cancel, load, count) in [([5], [], 1), ([], [6], 1), ([7], [], 0)] as [([Int], [Int], Int)] {
            change = ListWindow.Change()
            (change.cancel, change.load) = (cancel, load)
            prefetcher.update(change) { _ in request }
            #expect(prefetcher.count == count)
        }
        await fixture.transport.cancelled(atLeast: 1)
    }
}
