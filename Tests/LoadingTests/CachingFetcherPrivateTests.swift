import Foundation
import TestSupport
import Testing

@testable import Larder

/// What a server calls private is kept under a key of its own, also where no credentials were sent.
@Suite(.timeLimit(.minutes(1))) struct CachingFetcherPrivateTests {
    private typealias Fixture = CachingFetcherFixture

    private func entry(_ result: FetchResult) throws -> StoredEntry {
        guard case .entry(let entry) = result.payload else { throw ImageError.corrupt(.init("no entry")) }
        return entry
    }

    @Test(arguments: TransportKind.allCases)
    func aPrivateAnswerHasAKeyOfItsOwn(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { _, _ in
            .ok(Fixture.png, ["Cache-Control": "private, max-age=60", "ETag": "\"a\"", "Set-Cookie": "id=1"])
        }
        let asked = try fixture.request().key
        let stored = try entry(try await fixture.fetch())
        #expect(stored.isPrivate && stored.key != asked && stored.key.partition?.count == 64)
        #expect(stored.key.asked == asked)
        #expect(try stored.metadata().fields["set-cookie"] == nil)
        let disk = try #require(fixture.disk)
        #expect(disk.entry(for: asked)?.key == stored.key)
        #expect(try await fixture.fetch().source == .disk)
        #expect(fixture.transport.requests.count == 1)
        await fixture.fetcher.invalidate(try fixture.request().url)
        #expect(disk.entry(for: asked) == nil)
    }

    @Test(arguments: TransportKind.allCases)
    func aConfirmedPrivateAnswerStaysUnderItsKey(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { request, _ in
            request.fields["If-None-Match"] == nil
                ? .ok(Fixture.png, ["Cache-Control": "private, max-age=60", "ETag": "\"a\""])
                : .status(304, ["Cache-Control": "max-age=60", "ETag": "\"a\""])
        }
        let first = try entry(try await fixture.fetch())
        fixture.time.advance(seconds: 61)
        let second = try await fixture.fetch()
        #expect(second.source == .revalidated)
        #expect(try entry(second).key == first.key)
        #expect(try entry(second).isPrivate)
        #expect(try await fixture.fetch().source == .disk)
    }

    @Test(arguments: [true, false])
    func anAnswerTakesThePlaceOfOneOfTheOtherKind(startsPrivate: Bool) async throws {
        let fixture = try Fixture { _, number in
            let isPrivate = (number == 1) == startsPrivate
            return .ok(
                SampleImage.png(number == 1 ? 200 : 300),
                ["Cache-Control": isPrivate ? "private, max-age=60" : "max-age=60"])
        }
        #expect(try await fixture.fetch().payloadLength == 200)
        let second = try await fixture.fetch(policy: .reload)
        #expect(second.payloadLength == 300)
        #expect(try entry(second).isPrivate == !startsPrivate)
        let third = try await fixture.fetch()
        #expect(third.source == .disk && third.payloadLength == 300)
    }

    /// What was stored for all is fetched anew, so that it moves to the key of private answers.
    @Test(arguments: TransportKind.allCases)
    func aConfirmationThatMakesItPrivateMovesIt(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { request, number in
            let control = number == 1 ? "max-age=60" : "private, max-age=60"
            return request.fields["If-None-Match"] == nil
                ? .ok(Fixture.png, ["Cache-Control": control, "ETag": "\"a\""])
                : .status(304, ["Cache-Control": control, "ETag": "\"a\""])
        }
        let first = try entry(try await fixture.fetch())
        #expect(!first.isPrivate)
        fixture.time.advance(seconds: 61)
        let second = try await fixture.fetch()
        #expect(second.source == .network)
        #expect(try entry(second).isPrivate)
        #expect(try fixture.disk?.entry(for: fixture.request().key)?.key == entry(second).key)
    }

    /// Thumbnails of one answer do not survive the answer of the other kind that takes its place.
    @Test(arguments: [true, false])
    func thumbnailsFollowTheOriginal(startsPrivate: Bool) async throws {
        let directory = TemporaryDirectory()
        let time = ManualTime()
        let (light, dark) = (try ImageLoaderTests.png(red: 200), try ImageLoaderTests.png(red: 10))
        let transport = ScriptedTransport { _, number in
            let isPrivate = (number == 1) == startsPrivate
            return .ok(number == 1 ? light : dark, ["Cache-Control": isPrivate ? "private, max-age=60" : "max-age=60"])
        }
        func loader() throws -> ImageLoader {
            var configuration = ImageLoader.Configuration()
            configuration.transport = transport
            configuration.cacheDirectory = directory.path
            configuration.memory.emptiesUnderPressure = false
            return try ImageLoader(configuration, time: time)
        }
        let request = ImageRequest(url: ImageLoaderTests.url, thumbnail: ThumbnailSize("4x4"))
        func red(_ image: LoadedImage) -> UInt8 { image.bitmap.withPixels { $0[0] } }
        let first = try await loader().image(for: request)
        time.advance(seconds: 61)
        let second = try await loader().image(for: request)
        #expect(first.source == .network && second.source == .network)
        #expect(red(first) == 200 && red(second) == 10)
        let third = try loader()
        let found = try await third.image(for: request)
        #expect(found.source == .disk && red(found) == 10)
        #expect(third.cachedImage(for: request) != nil)
        #expect(transport.requests.count == 2)
    }
}
