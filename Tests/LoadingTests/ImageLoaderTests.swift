import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite(.timeLimit(.minutes(2))) struct ImageLoaderTests {
    /// A loader over a scripted transport, in a directory of its own.
    struct Fixture {
        let directory = TemporaryDirectory()
        let time = ManualTime()
        let transport: ScriptedTransport
        let loader: ImageLoader

        init(
            over kind: TransportKind = .scripted, hasDisk: Bool = true,
            change: (inout ImageLoader.Configuration) -> Void = { _ in }, script: @escaping ScriptedTransport.Script
        ) throws {
            transport = ScriptedTransport(over: kind, script)
            var configuration = ImageLoader.Configuration()
            configuration.transport = transport
            configuration.cacheDirectory = hasDisk ? directory.path : nil
            configuration.retries = .none
            // What else the machine does is no part of the test.
            configuration.memory.emptiesUnderPressure = false
            change(&configuration)
            loader = try ImageLoader(configuration, time: time)
        }

        /// Another loader on the same directory: nothing in memory.
        func again() throws -> ImageLoader { try ImageLoader(loader.configuration, time: time) }

        var temporaryFiles: [String] { directory.files(under: "tmp") }
    }

    static let url = URL(string: "http://img.example/a.png")!

    /// A picture of one colour.
    static func png(_ width: Int = 40, _ height: Int = 30, red: UInt8 = 200) throws -> [UInt8] {
        let bitmap = try Bitmap(width: width, height: height, hasAlpha: false) { pixels, _ throws(ImageError) in
            for index in stride(from: 0, to: pixels.count, by: 4) {
                pixels.storeBytes(of: red, toByteOffset: index, as: UInt8.self)
                pixels.storeBytes(of: 20, toByteOffset: index + 1, as: UInt8.self)
                pixels.storeBytes(of: 90, toByteOffset: index + 2, as: UInt8.self)
                pixels.storeBytes(of: 255, toByteOffset: index + 3, as: UInt8.self)
            }
        }
        return try ImageEncoder.png(bitmap)
    }

    static func phases(_ loader: ImageLoader, _ request: ImageRequest) async -> [ImagePhase] {
        var phases: [ImagePhase] = []
        for await phase in loader.phases(for: request) { phases.append(phase) }
        return phases
    }

    @Test(arguments: TransportKind.allCases)
    func anImageIsEmptyThenThereAndThenAtOnce(_ kind: TransportKind)
        async throws
    {
        let png = try Self.png()
        let fixture = try Fixture(over: kind) { _, _ in .ok(png, ["Cache-Control": "max-age=60"]) }
        let request = ImageRequest(url: Self.url)
        #expect(fixture.loader.cachedImage(for: request) == nil)

        let first = await Self.phases(fixture.loader, request)
        #expect(first.map(\.name) == ["empty", "success"])
        #expect(first.last?.image?.source == .network)
        #expect(first.last?.image?.bitmap.width == 40)

        let second = await Self.phases(fixture.loader, request)
        #expect(second.map(\.name) == ["success"])
        #expect(second.first?.image?.source == .memory)

        let third = await Self.phases(try fixture.again(), request)
        #expect(third.map(\.name) == ["empty", "success"])
        #expect(third.last?.image?.source == .disk)
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: TransportKind.allCases)
    func aFailureIsAPhaseAndNamesTheURL(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { _, _ in .status(404) }
        let phases = await Self.phases(fixture.loader, ImageRequest(url: Self.url))
        #expect(phases.map(\.name) == ["empty", "failure"])
        #expect(phases.last?.error?.code == "http_status")
        #expect(phases.last?.error?.url == "http://img.example/a.png")
        #expect(fixture.temporaryFiles.isEmpty)
    }

    @Test(arguments: ["ftp://img.example/a.png", "http:///a.png", "data:,x", "a.png"])
    func aURLThatCannotBeLoadedFailsWithoutARequest(text: String) async throws {
        let fixture = try Fixture { _, _ in .status(500) }
        let request = ImageRequest(url: try #require(URL(string: text)))
        let error = await Self.phases(fixture.loader, request).last?.error
        #expect(["invalid_url", "refused"].contains(error?.code))
        #expect(fixture.transport.requests.isEmpty)
    }

    @Test(arguments: TransportKind.allCases)
    func requestsForOneKeyShareOneFetchAndOneWaiterMayLeave(
        _ kind: TransportKind
    ) async throws {
        let png = try Self.png()
        let valve = ScriptedTransport.Valve()
        let fixture = try Fixture(over: kind) { _, _ in ScriptedTransport.Reply.ok(png).ending(.held(valve)) }
        let request = ImageRequest(url: Self.url)
        let staying = fixture.loader.task(for: request)
        let other = fixture.loader.task(for: ImageRequest(url: Self.url, thumbnail: ThumbnailSize("10")))
        let leaving = fixture.loader.task(for: request)
        await fixture.transport.requests(atLeast: 1)
        leaving.cancel()
        await #expect(throws: ImageError.self) { try await leaving.image }
        valve.open()
        #expect(try await staying.image.bitmap.width == 40)
        #expect(try await other.image.bitmap.width == 10)
        #expect(fixture.transport.requests.count == 1)
        #expect(fixture.transport.cancelled == 0)
    }

    @Test(arguments: TransportKind.allCases)
    func theLastToLeaveStopsTheTransferAndLeavesNoFile(_ kind: TransportKind)
        async throws
    {
        let png = SampleImage.png(2 << 20)
        let fixture = try Fixture(over: kind) { _, _ in
            ScriptedTransport.Reply.ok(png).inPieces(of: 64 << 10).ending(.held(ScriptedTransport.Valve()))
        }
        let tasks = (0..<3).map { _ in fixture.loader.task(for: ImageRequest(url: Self.url)) }
        while fixture.temporaryFiles.isEmpty, !Task.isCancelled { await Task.yield() }
        for task in tasks { task.cancel() }
        await fixture.transport.cancelled(atLeast: 1)
        for task in tasks { await #expect(throws: ImageError.self) { try await task.image } }
        while !fixture.temporaryFiles.isEmpty, !Task.isCancelled { await Task.yield() }
        #expect(fixture.loader.fetcher.flightCount == 0)
    }

    @Test(arguments: TransportKind.allCases)
    func aReleasedTaskIsGivenUp(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { _, _ in
            ScriptedTransport.Reply.ok(SampleImage.pngBeginning).ending(.held(ScriptedTransport.Valve()))
        }
        var task: ImageTask? = fixture.loader.task(for: ImageRequest(url: Self.url))
        #expect(task != nil)
        await fixture.transport.requests(atLeast: 1)
        task = nil
        await fixture.transport.cancelled(atLeast: 1)
    }

    @Test(arguments: TransportKind.allCases)
    func aThumbnailIsStoredAsAVariantAndFoundAgain(_ kind: TransportKind)
        async throws
    {
        let png = try Self.png(400, 200)
        let fixture = try Fixture(over: kind) { _, _ in .ok(png, ["Cache-Control": "max-age=60"]) }
        let request = ImageRequest(url: Self.url, thumbnail: ThumbnailSize("100x100"))
        let image = try await fixture.loader.image(for: request)
        #expect((image.bitmap.width, image.bitmap.height) == (100, 50))
        #expect((image.header.width, image.header.height) == (400, 200))

        let again = try fixture.again()
        let found = try await again.image(for: request)
        #expect((found.bitmap.width, found.bitmap.height) == (100, 50))
        #expect(found.source == .disk)
        #expect(fixture.transport.requests.count == 1)
        let stored = try await again.store(
            ImageRequest(url: Self.url), thumbnails: [#require(ThumbnailSize("100x100"))])
        #expect(try stored.thumbnails.first?.outcome.get().file == found.key.file)
    }

    @Test(arguments: TransportKind.allCases)
    func theScaleMultipliesTheSize(_ kind: TransportKind) async throws {
        let png = try Self.png(400, 200)
        let fixture = try Fixture(over: kind) { _, _ in .ok(png) }
        var request = ImageRequest(url: Self.url, thumbnail: ThumbnailSize("50"))
        request.scale = 2
        #expect(try await fixture.loader.image(for: request).bitmap.width == 100)
    }

    @Test(arguments: TransportKind.allCases)
    func anotherPictureUnderTheSameURLMakesItsThumbnailsAnew(
        _ kind: TransportKind
    ) async throws {
        let (red, green) = (try Self.png(100, 100, red: 250), try Self.png(100, 100, red: 5))
        let fixture = try Fixture(over: kind) { _, number in
            .ok(number == 1 ? red : green, ["Cache-Control": "max-age=60"])
        }
        let request = ImageRequest(url: Self.url, thumbnail: ThumbnailSize("10"))
        func shade(_ image: LoadedImage) -> UInt8 { image.bitmap.withPixels { $0[0] } }
        #expect(shade(try await fixture.loader.image(for: request)) > 240)
        fixture.time.advance(seconds: 100)
        #expect(shade(try await fixture.again().image(for: request)) < 15)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test(arguments: TransportKind.allCases)
    func aDamagedEntryIsFetchedAgain(_ kind: TransportKind) async throws {
        let png = try Self.png(300, 300)
        let fixture = try Fixture(over: kind) { _, _ in .ok(png, ["Cache-Control": "max-age=60"]) }
        let stored = try await fixture.loader.store(ImageRequest(url: Self.url))
        let path = fixture.directory(try #require(stored.file))
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[png.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        let image = try await fixture.again().image(for: ImageRequest(url: Self.url))
        #expect(image.source == .network)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test(arguments: TransportKind.allCases)
    func withoutADiskTierImagesLoadAllTheSame(_ kind: TransportKind)
        async throws
    {
        let png = try Self.png(300, 300)
        let fixture = try Fixture(over: kind, hasDisk: false) { _, _ in .ok(png) }
        let request = ImageRequest(url: Self.url, thumbnail: ThumbnailSize("30"))
        #expect(try await fixture.loader.image(for: request).bitmap.width == 30)
        #expect(try await fixture.loader.image(for: request).source == .memory)
        #expect(try await fixture.loader.store(ImageRequest(url: Self.url)).file == nil)
    }

    @Test(arguments: TransportKind.allCases)
    func aSHA256IsHeldAgainstTheBytes(_ kind: TransportKind) async throws {
        let png = try Self.png()
        let fixture = try Fixture(over: kind) { _, _ in .ok(png) }
        var request = ImageRequest(url: Self.url)
        for wrong in [String(repeating: "0", count: 64), "abc"] {
            request.sha256 = wrong
            await #expect { try await fixture.loader.image(for: request) } throws: {
                ($0 as? ImageError)?.code == "hash_mismatch"
            }
        }
        request.sha256 = SHA256.digest(png).hex.uppercased()
        #expect(try await fixture.loader.image(for: request).bitmap.width == 40)
    }

    @Test(arguments: TransportKind.allCases)
    func aFilterRefusesBeforeTheBodyIsComplete(_ kind: TransportKind)
        async throws
    {
        let png = try Self.png(40, 30)
        let fixture = try Fixture(over: kind) { _, _ in
            ScriptedTransport.Reply.ok(png).ending(.held(ScriptedTransport.Valve()))
        }
        var request = ImageRequest(url: Self.url)
        request.filter = ImageFilter(minWidth: 100)
        await #expect { try await fixture.loader.image(for: request) } throws: {
            ($0 as? ImageError)?.code == "filtered"
        }
        await fixture.transport.cancelled(atLeast: 1)
    }

    @Test(arguments: TransportKind.allCases)
    func processorsChangeThePictureAndItsKey(_ kind: TransportKind)
        async throws
    {
        struct Invert: ImageProcessing {
            let identifier = "test.invert"
            func process(_ bitmap: Bitmap) throws(ImageError) -> Bitmap {
                try Bitmap(width: bitmap.width, height: bitmap.height, hasAlpha: false) {
                    pixels, _ throws(ImageError) in
                    bitmap.withPixels { source in
                        for index in 0..<pixels.count { pixels[index] = index % 4 == 3 ? 255 : 255 - source[index] }
                    }
                }
            }
        }
        let png = try Self.png(red: 200)
        let fixture = try Fixture(over: kind) { _, _ in .ok(png) }
        let plain = ImageRequest(url: Self.url)
        let inverted = ImageRequest(url: Self.url, processors: [Invert()])
        #expect(try await fixture.loader.image(for: plain).bitmap.withPixels { $0[0] } == 200)
        #expect(try await fixture.loader.image(for: inverted).bitmap.withPixels { $0[0] } == 55)
        #expect(fixture.loader.memoryKey(for: plain) != fixture.loader.memoryKey(for: inverted))
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: TransportKind.allCases)
    func whatMemoryHasIsNotShownWhenItHasExpired(_ kind: TransportKind)
        async throws
    {
        let png = try Self.png()
        let fixture = try Fixture(over: kind) { request, _ in
            request.fields["If-None-Match"] == nil
                ? .ok(png, ["Cache-Control": "max-age=60", "ETag": "\"1\""]) : .status(304, ["ETag": "\"1\""])
        }
        let request = ImageRequest(url: Self.url)
        _ = try await fixture.loader.image(for: request)
        fixture.time.advance(seconds: 61)
        #expect(fixture.loader.cachedImage(for: request) == nil)
        #expect(fixture.loader.cachedImage(for: ImageRequest(url: Self.url, cachePolicy: .immutable)) != nil)
        #expect(try await fixture.loader.image(for: request).source == .revalidated)
    }

    /// After a 304, and after the same bytes once more; not after others, nor for another size.
    @Test(arguments: [nil, ThumbnailSize("10")])
    func whatIsUnchangedIsNotDecodedAgain(size: ThumbnailSize?) async throws {
        let answers = try [
            ScriptedTransport.Reply.ok(Self.png(), ["Cache-Control": "max-age=60", "ETag": "\"1\""]),
            .status(304, ["Cache-Control": "max-age=60", "ETag": "\"1\""]),
            .ok(Self.png(), ["Cache-Control": "max-age=60", "ETag": "\"2\""]),
            .ok(Self.png(red: 90), ["Cache-Control": "max-age=60", "ETag": "\"3\""]),
        ]
        let fixture = try Fixture { _, number in answers[number - 1] }
        let loader = fixture.loader
        let request = ImageRequest(url: Self.url, thumbnail: size)
        var images: [LoadedImage] = []
        for _ in answers {
            images.append(try await loader.image(for: request))
            #expect(loader.cachedImage(for: request)?.bitmap === images.last?.bitmap, "fresh again")
            fixture.time.advance(seconds: 61)
        }
        #expect(images.map(\.source) == [.network, .revalidated, .network, .network])
        #expect(images[1].bitmap === images[0].bitmap && images[2].bitmap === images[0].bitmap)
        #expect(images[3].bitmap !== images[0].bitmap)
        #expect(loader.events.counters.decoded == 2)
    }

    @Test func severalSizesOfWhatIsUnchangedAreNotDecodedAgain() async throws {
        let png = try Self.png()
        let fixture = try Fixture { request, _ in
            request.fields["If-None-Match"] == nil
                ? .ok(png, ["Cache-Control": "max-age=60", "ETag": "\"1\""]) : .status(304, ["ETag": "\"1\""])
        }
        let sizes = ["10", "20"].compactMap { ThumbnailSize($0) }
        let first = try await fixture.loader.images(for: ImageRequest(url: Self.url), sizes: sizes)
        fixture.time.advance(seconds: 61)
        let second = try await fixture.loader.images(for: ImageRequest(url: Self.url), sizes: sizes)
        #expect(second.map(\.source) == [.revalidated, .revalidated])
        #expect(zip(first, second).allSatisfy { $0.bitmap === $1.bitmap })
        #expect(fixture.loader.events.counters.decoded == 1)
    }

    @Test(arguments: TransportKind.allCases)
    func offlineOnlyNeverAsks(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { _, _ in .status(500) }
        let request = ImageRequest(url: Self.url, cachePolicy: .offlineOnly())
        await #expect { try await fixture.loader.image(for: request) } throws: {
            ($0 as? ImageError)?.code == "not_cached"
        }
        #expect(fixture.transport.requests.isEmpty)
    }
}
