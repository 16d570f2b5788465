import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite struct ProcessorTests {
    static func quarters() throws -> Bitmap { try ImageFixtures.bitmap(width: 40, height: 20) }

    @Test func resizingIsWhatAThumbnailIs() throws {
        let bitmap = try Self.quarters()
        let size = try #require(ThumbnailSize("20x20"))
        let resized = try ResizeProcessor(size).process(bitmap)
        #expect((resized.width, resized.height) == (20, 10))
        let png = try ImageEncoder.png(bitmap)
        let thumbnail = try png.withUnsafeBytes { try Thumbnailer.make($0, sizes: [size]) }[0]
        #expect(resized.packed == thumbnail.bitmap.packed)
        #expect(try ResizeProcessor(#require(ThumbnailSize("40x20"))).process(bitmap) === bitmap)
        let cropped = try #require(ThumbnailSize(width: 10, height: 10, crop: true))
        #expect(try ResizeProcessor(cropped).process(bitmap).width == 10)
        #expect(throws: ImageError.self) {
            try ResizeProcessor(#require(ThumbnailSize("65000x65000!"))).process(bitmap)
        }
    }

    @Test func croppingCutsOut() throws {
        let bitmap = try Self.quarters()
        let part = try CropProcessor(x: 30, y: 5, width: 8, height: 4).process(bitmap)
        #expect((part.width, part.height) == (8, 4))
        #expect(part.pixel(0, 0) == bitmap.pixel(30, 5))
        #expect(part.pixel(7, 3) == bitmap.pixel(37, 8))
        // What lies outside is left out.
        let edge = try CropProcessor(x: -10, y: -2, width: 20, height: 8).process(bitmap)
        #expect((edge.width, edge.height) == (10, 6))
        #expect(edge.pixel(9, 5) == bitmap.pixel(9, 5))
        #expect(try CropProcessor(x: -30, y: 0, width: 20, height: 8).process(bitmap).width == 1)
        let square = try CropProcessor(aspectRatio: 1).process(bitmap)
        #expect((square.width, square.height) == (20, 20))
        #expect(square.pixel(0, 0) == bitmap.pixel(10, 0))
        let tall = try CropProcessor(aspectRatio: 0.1).process(bitmap)
        #expect((tall.width, tall.height) == (2, 20))
        #expect(try CropProcessor(aspectRatio: 2).process(bitmap) === bitmap)
    }

    @Test(arguments: [(-5, -5, 1000, 1000), (100, 100, 5, 5), (3, 3, -1, 0), (Int.min, Int.max, .max, .min)])
    func croppingOutsideLeavesAtLeastAPixel(x: Int, y: Int, width: Int, height: Int) throws {
        let part = try CropProcessor(x: x, y: y, width: width, height: height).process(try Self.quarters())
        #expect(part.width >= 1 && part.height >= 1 && part.width <= 40 && part.height <= 20)
    }

    @Test(arguments: [-1, 0, Double.nan, Double.infinity]) func aRatioThatIsNoneChangesNothing(ratio: Double) throws {
        let bitmap = try Self.quarters()
        #expect(try CropProcessor(aspectRatio: ratio).process(bitmap) === bitmap)
    }

    @Test func roundedCornersAreTransparent() throws {
        let bitmap = try Self.quarters()
        let rounded = try RoundedCornersProcessor(radius: 6).process(bitmap)
        #expect(rounded.hasAlpha)
        for (x, y) in [(0, 0), (39, 0), (0, 19), (39, 19)] { #expect(rounded.pixel(x, y)[3] == 0) }
        for (x, y) in [(6, 0), (0, 6), (20, 10), (39, 10)] { #expect(rounded.pixel(x, y) == bitmap.pixel(x, y)) }
        let edge = (0..<6).map { rounded.pixel($0, 1)[3] }
        #expect(edge == edge.sorted() && edge.contains { $0 > 0 && $0 < 255 }, "smooth")
        #expect(try RoundedCornersProcessor(radius: 0).process(bitmap) === bitmap)
        let circle = try RoundedCornersProcessor().process(try ImageFixtures.bitmap(width: 9, height: 9))
        #expect(circle.pixel(0, 0)[3] == 0 && circle.pixel(4, 0)[3] == 255 && circle.pixel(4, 4)[3] == 255)
        #expect(try RoundedCornersProcessor(radius: .infinity).process(bitmap).width == 40)
    }

    @Test func identifiersAreStable() throws {
        let size = try #require(ThumbnailSize(width: 64, height: 64, crop: true))
        let processors: [any ImageProcessing] = [
            .resize(size), .crop(x: 1, y: 2, width: 3, height: 4), .crop(aspectRatio: 1.5), .roundedCorners(radius: 8),
            .roundedCorners(),
        ]
        #expect(
            processors.map(\.identifier) == [
                "larder.resize?64x64;crop", "larder.crop?1,2,3x4", "larder.crop?ratio=1.5", "larder.rounded?8.0",
                "larder.rounded?circle",
            ])
    }

    @Test func theyComposeInOrderAndAreInTheKey() async throws {
        let png = try ImageEncoder.png(Self.quarters())
        let fixture = try ImageLoaderTests.Fixture { _, _ in .ok(png) }
        let square = ImageRequest(url: ImageLoaderTests.url, processors: [.crop(aspectRatio: 1), .roundedCorners()])
        let other = ImageRequest(url: ImageLoaderTests.url, processors: [.roundedCorners(), .crop(aspectRatio: 1)])
        let (one, two) = (try await fixture.loader.image(for: square), try await fixture.loader.image(for: other))
        #expect((one.bitmap.width, one.bitmap.height) == (20, 20))
        #expect(one.bitmap.pixel(0, 0)[3] == 0)
        #expect(two.bitmap.pixel(0, 0)[3] == 255, "the rounded corners were cut off")
        #expect(one.key != two.key)
        #expect(one.key == fixture.loader.memoryKey(for: square))
        #expect(fixture.transport.requests.count == 1)
    }
}
