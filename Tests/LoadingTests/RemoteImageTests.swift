import Foundation
import Observation
import TestSupport
import Testing

@testable import Larder

@Suite(.timeLimit(.minutes(2))) struct RemoteImageTests {
    typealias Fixture = ImageLoaderTests.Fixture

    /// Runs deliveries when the test says so, on the test's own thread: a main loop that is not the main actor's.
    final class Loop: Sendable {
        private let queue = Lock<[@Sendable () -> Void]>([])
        private let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)

        var delivery: RemoteImage.Delivery {
            { [queue, arrival] work in
                queue.withLock { $0.append(work) }
                arrival.yield()
            }
        }

        func turn() {
            let work = queue.withLock { queue in
                defer { queue = [] }
                return queue
            }
            for body in work { body() }
        }

        /// Turns until the condition holds.
        func turn(until condition: () -> Bool) async {
            turn()
            var iterator = arrivals.makeAsyncIterator()
            while !condition() {
                _ = await iterator.next()
                turn()
            }
        }
    }

    /// Counts the changes of a property, as a list would see them.
    final class Watcher: Sendable {
        let changes = Lock(0)
        func watch(_ read: @escaping @Sendable () -> Void) {
            withObservationTracking(read) { [weak self] in
                guard let self else { return }
                changes.withLock { $0 += 1 }
                // The change is not made yet: watch again once it is.
                Task { self.watch(read) }
            }
        }
    }

    static func url(_ name: String) throws -> URL { try #require(URL(string: "http://img.example/\(name)")) }

    @Test(arguments: TransportKind.allCases)
    func aRowGoesFromEmptyToSuccess(_ kind: TransportKind) async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture(over: kind) { _, _ in .ok(png) }
        let loop = Loop()
        let row = RemoteImage(loader: fixture.loader, deliver: loop.delivery)
        #expect(row.phase.name == "empty")
        row.load(ImageRequest(url: try Self.url("a.png")))
        #expect(row.phase.name == "empty")
        await loop.turn { row.phase.image != nil }
        #expect(row.phase.image?.bitmap.width == 40)
        #expect(row.progress == nil)
    }

    @Test(arguments: TransportKind.allCases)
    func aMemoryHitIsSuccessAtOnceAndNeverEmpty(_ kind: TransportKind)
        async throws
    {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture(over: kind) { _, _ in .ok(png) }
        let request = ImageRequest(url: try Self.url("a.png"))
        _ = try await fixture.loader.image(for: request)
        let row = RemoteImage(loader: fixture.loader, deliver: { _ in Issue.record("nothing is to be delivered") })
        let watcher = Watcher()
        watcher.watch { _ = row.phase }
        row.load(request)
        #expect(row.phase.name == "success")
        #expect(watcher.changes.withLock { $0 } == 1)
        row.load(request)
        #expect(watcher.changes.withLock { $0 } == 1)
    }

    @Test(arguments: TransportKind.allCases)
    func aReusedRowNeverShowsTheOldPictureNorALateOne(_ kind: TransportKind)
        async throws
    {
        let (small, large) = (try ImageLoaderTests.png(10, 10), try ImageLoaderTests.png(60, 60))
        let fixture = try Fixture(over: kind) { request, _ in
            .ok(request.url.path.hasSuffix("small.png") ? small : large)
        }
        let loop = Loop()
        let row = RemoteImage(loader: fixture.loader, deliver: loop.delivery)
        let (first, second) = (
            ImageRequest(url: try Self.url("small.png")), ImageRequest(url: try Self.url("large.png"))
        )
        row.load(first)
        // The answer is there, but the loop has not turned when the row is given to another image.
        _ = try await fixture.loader.image(for: first)
        row.load(second)
        #expect(row.phase.name == "empty")
        await loop.turn { row.phase.image != nil }
        #expect(row.phase.image?.bitmap.width == 60)
        loop.turn()
        #expect(row.phase.image?.bitmap.width == 60)

        row.load(ImageRequest(url: try Self.url("other.png")))
        #expect(row.phase.name == "empty")
        row.load(first)
        #expect(row.phase.image?.bitmap.width == 10, "memory has it")
    }

    @Test(arguments: TransportKind.allCases)
    func aFailedRowCanBeRetried(_ kind: TransportKind) async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture(over: kind) { _, number in number == 1 ? .status(503) : .ok(png) }
        let loop = Loop()
        let row = RemoteImage(loader: fixture.loader, deliver: loop.delivery)
        row.retry()
        #expect(fixture.transport.requests.isEmpty, "nothing was asked for yet")
        row.load(ImageRequest(url: try Self.url("a.png")))
        await loop.turn { row.phase.error != nil }
        #expect(row.phase.error?.code == "http_status")
        row.retry()
        #expect(row.phase.name == "empty")
        await loop.turn { row.phase.image != nil }
        row.retry()
        #expect(row.phase.name == "success", "what is shown is kept")
        #expect(fixture.transport.requests.count == 2)
    }

    @Test(arguments: TransportKind.allCases)
    func aCancelledRowStaysAsItIsAndStopsTheTransfer(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { _, _ in
            ScriptedTransport.Reply.ok(SampleImage.pngBeginning).ending(.held(ScriptedTransport.Valve()))
        }
        let loop = Loop()
        let row = RemoteImage(loader: fixture.loader, deliver: loop.delivery)
        row.load(ImageRequest(url: try Self.url("a.png")))
        await fixture.transport.requests(atLeast: 1)
        row.cancel()
        await fixture.transport.cancelled(atLeast: 1)
        loop.turn()
        #expect(row.phase.name == "empty")
    }

    @Test(arguments: TransportKind.allCases)
    func aReleasedRowStopsTheTransfer(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { _, _ in
            ScriptedTransport.Reply.ok(SampleImage.pngBeginning).ending(.held(ScriptedTransport.Valve()))
        }
        var row: RemoteImage? = RemoteImage(loader: fixture.loader, deliver: Loop().delivery)
        row?.load(ImageRequest(url: try Self.url("a.png")))
        await fixture.transport.requests(atLeast: 1)
        row = nil
        await fixture.transport.cancelled(atLeast: 1)
    }

    @MainActor @Test(arguments: TransportKind.allCases)
    func theMainQueueIsTheDefault(_ kind: TransportKind)
        async throws
    {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture(over: kind) { _, _ in .ok(png) }
        let row = RemoteImage(loader: fixture.loader)
        let (changes, change) = AsyncStream.makeStream(of: Bool.self)
        withObservationTracking {
            _ = row.phase
        } onChange: {
            // Ends the test run where it does not hold: under dispatchMain() the main queue has no main thread.
            MainActor.preconditionIsolated()
            change.yield(true)
        }
        row.load(ImageRequest(url: try Self.url("a.png")))
        var iterator = changes.makeAsyncIterator()
        let onMain = await iterator.next(isolation: #isolation)
        #expect(onMain == true)
    }

    /// What is asked for with other fields is another request, also where it has the same key.
    @Test func aRequestWithOtherFieldsIsLoadedAnew() async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture { _, _ in .ok(png, ["Vary": "Accept-Language"]) }
        let loop = Loop()
        let row = RemoteImage(loader: fixture.loader, deliver: loop.delivery)
        for language in ["en", "en", "ko"] {
            row.load(ImageRequest(url: try Self.url("a.png"), fields: ["Accept-Language": language]))
            await loop.turn { row.phase.image != nil }
        }
        #expect(fixture.transport.requests.map { $0.fields["accept-language"] } == ["en", "ko"])
    }
}
