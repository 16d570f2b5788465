import Foundation
import TestSupport
import Testing

@testable import Larder

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct ImageRequestTests {
    typealias Fixture = ImageLoaderTests.Fixture

    @Test func aURLRequestBringsItsFieldsPolicyAndTime() throws {
        var request = URLRequest(url: ImageLoaderTests.url, cachePolicy: .returnCacheDataElseLoad, timeoutInterval: 5)
        request.setValue("image/png", forHTTPHeaderField: "Accept")
        request.setValue("Bearer x", forHTTPHeaderField: "Authorization")
        let made = try ImageRequest(request, thumbnail: ThumbnailSize("64"), priority: .high)
        #expect(made.url == ImageLoaderTests.url)
        #expect(made.fields["accept"] == "image/png" && made.fields["authorization"] == "Bearer x")
        #expect(made.cachePolicy == .immutable)
        #expect(made.deadlines == Deadlines(connect: 5, idle: 5, total: 5))
        #expect(made.thumbnail == ThumbnailSize("64") && made.priority == .high)
        #expect(try ImageRequest(URLRequest(url: ImageLoaderTests.url)).deadlines == nil)
    }

    @Test(arguments: [
        (URLRequest.CachePolicy.useProtocolCachePolicy, CachePolicy.http),
        (.reloadIgnoringLocalCacheData, .reload), (.reloadIgnoringLocalAndRemoteCacheData, .reload),
        (.reloadRevalidatingCacheData, .revalidate), (.returnCacheDataElseLoad, .immutable),
        (.returnCacheDataDontLoad, .offlineOnly()),
    ]) func policiesCorrespond(theirs: URLRequest.CachePolicy, ours: CachePolicy) throws {
        #expect(try ImageRequest(URLRequest(url: ImageLoaderTests.url, cachePolicy: theirs)).cachePolicy == ours)
    }

    @Test func whatIsNoPlainGetIsRefused() throws {
        var post = URLRequest(url: ImageLoaderTests.url)
        post.httpMethod = "POST"
        var body = URLRequest(url: ImageLoaderTests.url)
        body.httpBody = Data([1])
        for request in [post, body] {
            #expect(throws: ImageError.self) { try ImageRequest(request) }
        }
    }

    @Test func severalSizesTakeOneFetchAndOneDecode() async throws {
        let png = try ImageLoaderTests.png(400, 200)
        let fixture = try Fixture { _, _ in .ok(png, ["Cache-Control": "max-age=60"]) }
        let sizes = try ["100", "50x50", "20", "100"].map { try #require(ThumbnailSize($0)) }
        let request = ImageRequest(url: ImageLoaderTests.url, processors: [.roundedCorners(radius: 2)])
        let images = try await fixture.loader.images(for: request, sizes: sizes)
        #expect(images.map(\.bitmap.width) == [100, 50, 20, 100])
        #expect(images.allSatisfy { $0.bitmap.hasAlpha })
        #expect(fixture.transport.requests.count == 1)
        #expect(fixture.loader.events.counters.decoded == 1)

        let again = try await fixture.loader.images(for: request, sizes: sizes)
        #expect(again.allSatisfy { $0.source == .memory })
        var single = request
        single.thumbnail = sizes[1]
        #expect(fixture.loader.cachedImage(for: single)?.bitmap.width == 50)

        let later = try fixture.again()
        #expect(try await later.images(for: request, sizes: sizes).allSatisfy { $0.source == .disk })
        #expect(later.events.counters.fetched == 0)
        #expect(try await later.images(for: request, sizes: []).isEmpty)
    }

    @Test func severalSizesFailTogether() async throws {
        let fixture = try Fixture { _, _ in .status(404) }
        await #expect {
            try await fixture.loader.images(
                for: ImageRequest(url: ImageLoaderTests.url), sizes: [#require(ThumbnailSize("10"))])
        } throws: {
            ($0 as? ImageError)?.code == "http_status"
                && ($0 as? ImageError)?.url == ImageLoaderTests.url.absoluteString
        }
    }

    /// A load that demands more is not answered by one that demands less.
    @Test func aDemandIsNotMetByAnothersLoad() async throws {
        let png = try ImageLoaderTests.png()
        let valve = ScriptedTransport.Valve()
        let fixture = try Fixture { _, _ in ScriptedTransport.Reply.ok(png).headHeld(by: valve) }
        let plain = fixture.loader.task(for: ImageRequest(url: ImageLoaderTests.url))
        let wrong = String(repeating: "0", count: 64)
        let demanding = fixture.loader.task(for: ImageRequest(url: ImageLoaderTests.url, sha256: wrong))
        valve.open()
        #expect(try await plain.image.bitmap.width == 40)
        await #expect { try await demanding.image } throws: { ($0 as? ImageError)?.code == "hash_mismatch" }

        // Nor by what memory has.
        let filtered = ImageRequest(url: ImageLoaderTests.url, filter: ImageFilter(minWidth: 41))
        #expect(fixture.loader.cachedImage(for: filtered) == nil)
        #expect(fixture.loader.cachedImage(for: ImageRequest(url: ImageLoaderTests.url, sha256: wrong)) == nil)
        let right = SHA256.digest(png).hex
        #expect(fixture.loader.cachedImage(for: ImageRequest(url: ImageLoaderTests.url, sha256: right)) != nil)
    }
}
