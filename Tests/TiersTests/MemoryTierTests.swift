import TestSupport
import Testing

@testable import Larder

@Suite struct MemoryTierTests {
    @Test func findsWhatWasInserted() throws {
        let tier = MemoryTier()
        let image = try picture("a")
        #expect(tier.image(for: image.key) == nil)
        tier.insert(image)
        let found = try #require(tier.image(for: image.key))
        #expect(found.bitmap === image.bitmap)
        #expect(found.key == image.key)
        #expect(found.header == image.header)
        #expect(found.source == .memory)
        #expect(!found.isStale)
        #expect(tier.statistics == .init(hits: 1, misses: 1, evictions: 0, count: 1, bytes: image.bitmap.byteCount))
    }

    /// NSCache's own order keeps the first that came; ours must not.
    @Test func holdsExactlyTheCountAndLosesTheOldest() throws {
        let tier = MemoryTier(.init(countLimit: 3))
        for name in 0..<10 { tier.insert(try picture("\(name)")) }
        #expect(tier.statistics.count == 3)
        #expect((0..<10).filter { tier.image(for: CacheKey(url: "\($0)")) != nil } == [7, 8, 9])
    }

    @Test func scanDoesNotFlushWhatAListShows() throws {
        let tier = MemoryTier(.init(countLimit: 100))
        for name in 0..<20 { tier.insert(try picture("row \(name)")) }
        for name in 0..<20 { _ = tier.image(for: CacheKey(url: "row \(name)")) }
        for name in 0..<1000 { tier.insert(try picture("scan \(name)")) }
        #expect((0..<20).allSatisfy { tier.image(for: CacheKey(url: "row \($0)")) != nil })
        #expect(tier.statistics.count == 100)
    }
}

/// A picture of 10 × 10 pixels by default, which costs 400 bytes.
func picture(_ name: String, width: Int = 10, height: Int = 10) throws -> LoadedImage {
    let bitmap = try Bitmap(width: width, height: height, hasAlpha: false) { pixels, _ in
        pixels.initializeMemory(as: UInt8.self, repeating: 0)
    }
    return LoadedImage(
        bitmap: bitmap, header: ImageHeader(format: .png, width: width, height: height), key: CacheKey(url: name),
        source: .network)
}
