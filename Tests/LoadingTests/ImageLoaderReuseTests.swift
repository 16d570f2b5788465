import Foundation
import TestSupport
import Testing

@testable import Larder

/// What memory and thumbnails may answer without asking, as RFC 9111 and the request say.
@Suite(.timeLimit(.minutes(1))) struct ImageLoaderReuseTests {
    typealias Fixture = ImageLoaderTests.Fixture

    private static let url = ImageLoaderTests.url

    private static func request(
        _ fields: HTTPFields = [:], size: String? = nil, policy: CachePolicy = .http, filter: ImageFilter? = nil
    ) throws -> ImageRequest {
        ImageRequest(
            url: url, fields: fields, thumbnail: try size.map { try #require(ThumbnailSize($0)) }, cachePolicy: policy,
            filter: filter)
    }

    @Test func anAnswerChosenByFieldsIsForRequestsWithTheSame() async throws {
        let (red, dark) = (try ImageLoaderTests.png(red: 250), try ImageLoaderTests.png(red: 9))
        let fixture = try Fixture { request, _ in
            .ok(request.fields["accept-language"] == "ko" ? dark : red, ["Vary": "Accept-Language"])
        }
        let (english, korean) = (
            try Self.request(["Accept-Language": "en"]), try Self.request(["Accept-Language": "ko"])
        )
        let first = try await fixture.loader.image(for: english)
        #expect(fixture.loader.cachedImage(for: english) != nil)
        #expect(fixture.loader.cachedImage(for: korean) == nil)
        let other = try await fixture.loader.image(for: korean)
        #expect(other.decoded.facts.sha256 != first.decoded.facts.sha256)
        #expect(fixture.loader.cachedImage(for: english) == nil)
    }

    @Test(arguments: [["Cache-Control": "no-store"], ["Vary": "*"]] as [HTTPFields])
    func whatMayNotBeStoredDoesNotStayInMemory(fields: HTTPFields) async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture { _, number in .ok(png, number == 1 ? ["Cache-Control": "max-age=60"] : fields) }
        _ = try await fixture.loader.image(for: Self.request())
        _ = try await fixture.loader.image(for: Self.request(policy: .reload))
        #expect(fixture.loader.cachedImage(for: try Self.request()) == nil)
        _ = try await fixture.loader.image(for: Self.request(size: "8"))
        #expect(fixture.loader.cachedImage(for: try Self.request(size: "8")) == nil)
        #expect(fixture.transport.requests.count == 3)
    }

    @Test(arguments: [nil, "8"]) func theRequestsOwnDirectivesHold(size: String?) async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture { _, _ in .ok(png, ["Cache-Control": "max-age=600"]) }
        _ = try await fixture.loader.image(for: Self.request(size: size))
        fixture.time.advance(seconds: 30)
        for (directive, asked) in [("max-age=60", 1), ("max-age=10", 2), ("no-cache", 3), ("only-if-cached", 3)] {
            _ = try await fixture.loader.image(for: Self.request(["Cache-Control": directive], size: size))
            #expect(fixture.transport.requests.count == asked, "\(directive)")
        }
    }

    @Test(arguments: [nil, "8"]) func offlineAPictureIsAsStaleAsAllowed(size: String?) async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture { _, _ in .ok(png, ["Cache-Control": "max-age=60"]) }
        _ = try await fixture.loader.image(for: Self.request(size: size))
        fixture.time.advance(seconds: 100)
        func cached(_ maxStale: Double?) throws -> LoadedImage? {
            fixture.loader.cachedImage(for: try Self.request(size: size, policy: .offlineOnly(maxStale: maxStale)))
        }
        #expect(try cached(30) == nil)
        #expect(try cached(50)?.isStale == true)
        #expect(try cached(nil)?.isStale == true)
        await #expect(throws: ImageError.self) {
            try await fixture.loader.image(for: Self.request(size: size, policy: .offlineOnly(maxStale: 30)))
        }
    }

    @Test func thumbnailsOfReplacedBytesAreForgotten() async throws {
        let (old, new) = (try ImageLoaderTests.png(red: 250), try ImageLoaderTests.png(red: 9))
        let fixture = try Fixture { _, number in .ok(number == 1 ? old : new, ["Cache-Control": "max-age=60"]) }
        _ = try await fixture.loader.image(for: Self.request(size: "8"))
        _ = try await fixture.loader.image(for: Self.request(policy: .reload))
        #expect(fixture.loader.cachedImage(for: try Self.request(size: "8")) == nil)
        let thumbnail = try await fixture.loader.image(for: Self.request(size: "8"))
        #expect(thumbnail.decoded.facts.sha256 == SHA256.digest(new))
    }

    @Test(arguments: [nil, "8"]) func aFilterHoldsForWhatIsStored(size: String?) async throws {
        let png = try ImageLoaderTests.png(40, 30)
        let fixture = try Fixture { _, _ in .ok(png, ["Cache-Control": "max-age=60"]) }
        _ = try await fixture.loader.image(for: Self.request(size: size))
        for loader in [fixture.loader, try fixture.again()] {
            let error = await #expect(throws: ImageError.self) {
                try await loader.image(for: Self.request(size: size, filter: ImageFilter(minWidth: 41)))
            }
            #expect(error?.code == "filtered")
            let image = try await loader.image(for: Self.request(size: size, filter: ImageFilter(minWidth: 40)))
            #expect(image.bitmap.width == (size == nil ? 40 : 8))
        }
        #expect(fixture.transport.requests.count == 1)
    }

    @Test func limitsHoldForWhatIsStored() async throws {
        let png = try ImageLoaderTests.png(40, 30)
        let fixture = try Fixture { _, _ in .ok(png) }
        _ = try await fixture.loader.image(for: Self.request())
        for bytes in [false, true] {
            var configuration = fixture.loader.configuration
            if bytes { configuration.maxBodyBytes = png.count - 1 } else { configuration.limits.maxPixels = 1199 }
            let strict = try ImageLoader(configuration, time: fixture.time)
            let error = await #expect(throws: ImageError.self) { try await strict.image(for: Self.request()) }
            #expect(error?.code == "too_large")
        }
    }

    private func damage(_ path: String, at offset: Int) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[offset] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    @Test(arguments: [nil, "8"]) func aDamagedEntryThatWasConfirmedIsFetchedAgain(size: String?) async throws {
        let png = try ImageLoaderTests.png()
        let fixture = try Fixture { request, _ in
            request.fields["if-none-match"] == nil
                ? .ok(png, ["ETag": "\"a\"", "Cache-Control": "no-cache"]) : .status(304, ["ETag": "\"a\""])
        }
        let stored = try await fixture.loader.store(Self.request())
        try damage(fixture.directory(try #require(stored.file)), at: png.count / 2)
        let loader = try fixture.again()
        #expect(try await loader.image(for: Self.request(size: size)).bitmap.height == (size == nil ? 30 : 6))
        #expect(fixture.transport.requests.count == 3)

        try damage(fixture.directory(try #require(stored.file)), at: png.count / 2)
        let thumbnails = try await fixture.again().store(Self.request(), thumbnails: [#require(ThumbnailSize("9"))])
        #expect(thumbnails.thumbnails.map { (try? $0.outcome.get())?.width } == [9])
        #expect(fixture.transport.requests.count == 5)
    }

    @Test func theHeaderIsThatOfTheOriginal() async throws {
        let png = try ImageLoaderTests.png(40, 30)
        let fixture = try Fixture { _, _ in .ok(png, ["Cache-Control": "max-age=60"]) }
        _ = try await fixture.loader.image(for: Self.request(size: "8"))
        let image = try await fixture.again().image(for: Self.request(size: "8"))
        #expect(image.source == .disk && image.bitmap.width == 8)
        #expect(image.header.width == 40 && image.header.height == 30 && image.header.format == .png)
    }

    @Test func loadsWithOtherDeadlinesAreLoadsOfTheirOwn() throws {
        var request = try Self.request()
        let key = CacheKey(url: "a")
        let id = LoadID(request, key)
        #expect(id == LoadID(request, key))
        request.deadlines = Deadlines(total: 1)
        #expect(id != LoadID(request, key))
        request.deadlines = nil
        request.url = try #require(URL(string: "http://img.example/a.png?signature=2"))
        #expect(id != LoadID(request, key))
    }

    @Test func aNewLoadBeginsWithoutProgress() async throws {
        let png = try ImageLoaderTests.png()
        let valve = ScriptedTransport.Valve()
        let fixture = try Fixture { _, number in
            number == 1
                ? .ok(Array(png.prefix(50))).ending(.error(.truncated(.init("cut"))))
                : ScriptedTransport.Reply.ok(png).headHeld(by: valve)
        }
        let failed = fixture.loader.task(for: try Self.request())
        await #expect(throws: ImageError.self) { try await failed.image }
        #expect(failed.progress.snapshot.received == 50)
        let task = fixture.loader.task(for: try Self.request())
        #expect(task.progress.snapshot.received == 0)
        valve.open()
        _ = try await task.image
    }
}
