import Foundation
import TestSupport
import Testing

@testable import Larder

/// What travels beside `.empty`: placeholders and previews.
@Suite struct PlaceholderTests {
    typealias Fixture = ImageLoaderTests.Fixture
    static let hash = "1QcSHQRnh493V4dIh4eXh1h4kJUI"

    @Test func whatTheRequestBringsIsThereWithEmpty() async throws {
        let valve = ScriptedTransport.Valve()
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture { _, _ in ScriptedTransport.Reply.ok(png).headHeld(by: valve) }
        let loop = RemoteImageTests.Loop()
        let row = RemoteImage(loader: fixture.loader, deliver: loop.delivery)
        row.load(ImageRequest(url: ImageLoaderTests.url, placeholder: ThumbHash(base64: Self.hash)))
        #expect(row.phase.isEmpty)
        #expect(row.placeholder?.width == 23)
        #expect(row.placeholderColor == ThumbHash(base64: Self.hash)?.averageColor)
        valve.open()
        await loop.turn { row.phase.image != nil }
        #expect(row.placeholder == nil && row.placeholderColor == nil)
    }

    @Test func aThumbnailKeepsOneAndItIsShownWhileTheServerIsAsked() async throws {
        let png = try ImageLoaderTests.png(100, 100, red: 200)
        let valve = ScriptedTransport.Valve()
        let fixture = try Fixture { _, number in
            number == 1
                ? .ok(png, ["Cache-Control": "max-age=60", "ETag": "\"1\""])
                : ScriptedTransport.Reply.status(304, ["ETag": "\"1\""]).headHeld(by: valve)
        }
        let sizes = try ["40", "20"].map { try #require(ThumbnailSize($0)) }
        let stored = try await fixture.loader.store(ImageRequest(url: ImageLoaderTests.url), thumbnails: sizes)
        let placeholder = try #require(stored.placeholder)
        #expect(placeholder.color == ImageColor(red: 200, green: 20, blue: 90))

        // The same from disk, without a decode.
        let later = try fixture.again()
        let found = try await later.store(ImageRequest(url: ImageLoaderTests.url), thumbnails: sizes)
        #expect(found.placeholder == placeholder)
        #expect(later.events.counters.decoded == 0)

        fixture.time.advance(seconds: 61)
        let task = later.task(for: ImageRequest(url: ImageLoaderTests.url, thumbnail: sizes[0]))
        await fixture.transport.requests(atLeast: 2)
        #expect(task.progress.snapshot.color == placeholder.color)
        #expect(task.progress.snapshot.placeholder != nil)
        valve.open()
        #expect(try await task.image.source == .revalidated)
    }

    @Test func withoutThumbnailsNothingIsDecoded() async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture { _, _ in .ok(png) }
        let stored = try await fixture.loader.store(ImageRequest(url: ImageLoaderTests.url))
        #expect(stored.placeholder == nil)
        #expect(fixture.loader.events.counters.decoded == 0)
    }

    /// A progressive JPEG whose end is held back.
    static func slowly(_ jpeg: [UInt8], _ valve: ScriptedTransport.Valve) -> ScriptedTransport.Reply {
        var reply = ScriptedTransport.Reply.ok(jpeg).inPieces(of: 4096).ending(.held(valve))
        reply.pieces.removeLast()
        reply.fields["Content-Length"] = "\(jpeg.count)"
        return reply
    }

    @Test func aProgressiveImageShowsPreviewsAndNeverKeepsThem() async throws {
        let jpeg = try ImageFixtures.jpeg(width: 600, height: 400, orientation: .right, progressive: true, quality: 95)
        try #require(jpeg.count > 10_000)
        let fixture = try Fixture { _, _ in Self.slowly(jpeg, ScriptedTransport.Valve()) }
        let loop = RemoteImageTests.Loop()
        let row = RemoteImage(loader: fixture.loader, deliver: loop.delivery)
        row.load(ImageRequest(url: ImageLoaderTests.url))
        await loop.turn { row.preview != nil }
        #expect(row.phase.isEmpty)
        let preview = try #require(row.preview)
        #expect((preview.width, preview.height) == (400, 600), "upright")
        #expect(fixture.loader.memory.statistics.count == 0)
        row.cancel()
        while fixture.loader.flightCount > 0 || fixture.loader.fetcher.flightCount > 0, !Task.isCancelled {
            await Task.yield()
        }
        #expect(fixture.temporaryFiles.isEmpty)
    }

    @Test(arguments: [true, false]) func neitherAPrefetchNorWhoWantsNoneGetsPreviews(isPrefetch: Bool) async throws {
        let jpeg = try ImageFixtures.jpeg(width: 600, height: 400, progressive: true, quality: 95)
        let fixture = try Fixture(
            change: { if !isPrefetch { $0.maxPreviews = 0 } },
            script: { _, _ in Self.slowly(jpeg, ScriptedTransport.Valve()) })
        let task = fixture.loader.task(
            for: ImageRequest(url: ImageLoaderTests.url, priority: isPrefetch ? .low : .high))
        // All that comes before the end has come.
        while task.progress.snapshot.received < jpeg.count - 4096, !Task.isCancelled { await Task.yield() }
        while fixture.loader.decoding.waiting > 0, !Task.isCancelled { await Task.yield() }
        #expect(task.progress.snapshot.preview == nil)
    }
}
