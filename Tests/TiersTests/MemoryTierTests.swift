import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite struct MemoryTierTests {
    @Test func findsWhatWasInserted() throws {
        let tier = plainTier()
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
        let tier = plainTier(.init(countLimit: 3))
        var evicted: [CacheKey] = []
        for name in 0..<10 { evicted += tier.insert(try picture("\(name)")) }
        #expect(tier.statistics.count == 3)
        #expect((0..<10).filter { tier.image(for: CacheKey(url: "\($0)")) != nil } == [7, 8, 9])
        #expect(evicted.map(\.url) == (0..<7).map(String.init))
        #expect(tier.statistics.evictions == 7)
    }

    @Test func neverHoldsMoreBytesThanTheLimit() throws {
        var random = SplitMix(state: 7)
        let tier = plainTier(.init(byteLimit: 10_000))
        for _ in 0..<2_000 {
            let side = Int.random(in: 1...40, using: &random)
            let image = try picture("\(Int.random(in: 0..<300, using: &random))", width: side, height: side)
            tier.insert(image)
            #expect(tier.statistics.bytes <= 10_000)
            #expect(tier.image(for: image.key)?.bitmap === image.bitmap)
        }
        // What is counted is what is there.
        let found = (0..<300).compactMap { tier.image(for: CacheKey(url: "\($0)")) }
        #expect(found.count == tier.statistics.count)
        #expect(found.reduce(0) { $0 + $1.bitmap.byteCount } == tier.statistics.bytes)
    }

    /// Shown means: asked for again. Nothing of the scan is.
    @Test func scanDoesNotFlushWhatAListShows() throws {
        let tier = plainTier(.init(countLimit: 100))
        for name in 0..<20 { tier.insert(try picture("row \(name)")) }
        for name in 0..<20 { _ = tier.image(for: CacheKey(url: "row \(name)")) }
        for name in 0..<1000 { tier.insert(try picture("scan \(name)")) }
        #expect((0..<20).allSatisfy { tier.image(for: CacheKey(url: "row \($0)")) != nil })
        #expect(tier.statistics.count == 100)
    }

    /// Rows that were loaded once and are on the screen since: held by the list, never asked for again.
    @Test func whatIsStillShownIsFoundAgainAfterItsEviction() throws {
        let tier = plainTier(.init(countLimit: 100))
        var shown = try (0..<20).map { try picture("row \($0)") }
        for row in shown { tier.insert(row) }
        for name in 0..<1000 { tier.insert(try picture("scan \(name)")) }
        for row in shown { #expect(tier.image(for: row.key)?.bitmap === row.bitmap) }
        // Found again is held again, within the limit, and outlives the list.
        #expect(tier.statistics.count == 100)
        let keys = shown.map(\.key)
        shown = []
        for name in 1000..<1050 { tier.insert(try picture("scan \(name)")) }
        #expect(keys.allSatisfy { tier.image(for: $0) != nil })
    }

    @Test func pixelsAloneKeepAPictureFindable() throws {
        let tier = plainTier(.init(countLimit: 1))
        var image: LoadedImage? = try picture("a")
        let key = CacheKey(url: "a")
        let bitmap = try #require(image).bitmap
        tier.insert(try #require(image))
        image = nil
        tier.insert(try picture("b"))
        let found = try #require(tier.image(for: key))
        #expect(found.bitmap === bitmap)
        #expect(found.key == key)
        #expect(tier.statistics.count == 1)
    }

    @Test func evictedAndNoLongerShownIsReleased() throws {
        let tier = plainTier(.init(countLimit: 1))
        weak var first: Bitmap?
        func insertFirst() throws {
            let image = try picture("first")
            first = image.bitmap
            tier.insert(image)
        }
        try insertFirst()
        #expect(first != nil)
        tier.insert(try picture("second"))
        #expect(first == nil)
        #expect(tier.image(for: CacheKey(url: "first")) == nil)
    }

    /// Those who went leave nothing behind: the index does not grow with what has passed through.
    @Test func theIndexForgetsTheDead() throws {
        let tier = plainTier(.init(countLimit: 10))
        for name in 0..<5_000 { tier.insert(try picture("\(name)", width: 1, height: 1)) }
        #expect(tier.indexed <= 10 + 4)
        // Nor does it while some are shown for long.
        let shown = try (0..<50).map { try picture("shown \($0)", width: 1, height: 1) }
        for row in shown { tier.insert(row) }
        for name in 0..<5_000 { tier.insert(try picture("\(name)", width: 1, height: 1)) }
        withExtendedLifetime(shown) { #expect(tier.indexed <= 10 + 2 * 50 + 4) }
    }

    @Test func whatIsLargerThanTheLimitIsNotHeldButFoundWhileShown() throws {
        let tier = plainTier(.init(byteLimit: 1_000))
        tier.insert(try picture("small"))
        var large: LoadedImage? = try picture("large", width: 100, height: 100)
        tier.insert(try #require(large))
        #expect(tier.statistics.bytes == 400)
        #expect(tier.image(for: CacheKey(url: "large"))?.bitmap === large?.bitmap)
        large = nil
        #expect(tier.image(for: CacheKey(url: "large")) == nil)
        #expect(tier.image(for: CacheKey(url: "small")) != nil)
    }

    @Test func limitsOfZeroHoldNothing() throws {
        for configuration in [MemoryTier.Configuration(byteLimit: 0), .init(countLimit: 0), .init(byteLimit: -1)] {
            let tier = plainTier(configuration)
            tier.insert(try picture("a"))
            #expect(tier.statistics.count == 0)
            #expect(tier.image(for: CacheKey(url: "a")) == nil)
        }
    }

    @Test func aPictureLivesNoLongerThanItsTime() throws {
        let time = ManualTime()
        let tier = plainTier(.init(timeToLive: 10), time: time)
        let image = try picture("a")
        tier.insert(image)
        time.advance(seconds: 9)
        #expect(tier.image(for: image.key) != nil)
        time.advance(seconds: 2)
        // Not even through the reference that the test holds.
        #expect(tier.image(for: image.key) == nil)
        #expect(tier.statistics.count == 0)
        tier.insert(image)
        #expect(tier.image(for: image.key) != nil)
    }

    /// Evicted and found again is no younger for it.
    @Test func findingAgainDoesNotProlongATime() throws {
        let time = ManualTime()
        let tier = plainTier(.init(countLimit: 1, timeToLive: 10), time: time)
        let image = try picture("a")
        tier.insert(image)
        time.advance(seconds: 6)
        tier.insert(try picture("b"))
        #expect(tier.image(for: image.key) != nil)
        time.advance(seconds: 6)
        #expect(tier.image(for: image.key) == nil)
    }

    @Test func aRevalidatedPictureIsNoYounger() throws {
        let time = ManualTime()
        let tier = plainTier(.init(timeToLive: 10), time: time)
        let image = try picture("a")
        tier.insert(image)
        time.advance(seconds: 6)
        #expect(tier.refreshed(image.key, nil, sha256: []) != nil)
        time.advance(seconds: 6)
        #expect(tier.refreshed(image.key, nil, sha256: []) == nil)
        #expect(tier.image(for: image.key) == nil)
    }

    @Test func theExpiredGoBeforeTheLiving() throws {
        let time = ManualTime()
        let tier = plainTier(.init(countLimit: 2, timeToLive: 10), time: time)
        tier.insert(try picture("old"))
        for _ in 0..<3 { _ = tier.image(for: CacheKey(url: "old")) }
        time.advance(seconds: 6)
        tier.insert(try picture("young"))
        time.advance(seconds: 6)
        tier.insert(try picture("new"))
        #expect(tier.image(for: CacheKey(url: "young")) != nil)
        #expect(tier.image(for: CacheKey(url: "new")) != nil)
    }

    @Test func insertingAgainReplaces() throws {
        let tier = plainTier()
        let first = try picture("a")
        let second = try picture("a", width: 20)
        tier.insert(first)
        tier.insert(second)
        #expect(tier.image(for: first.key)?.bitmap === second.bitmap)
        #expect(tier.statistics.count == 1)
        #expect(tier.statistics.bytes == second.bitmap.byteCount)
    }

    @Test func removingForgetsEvenWhatIsShown() throws {
        let tier = plainTier()
        let original = try picture("a")
        let variant = LoadedImage(
            bitmap: original.bitmap, header: original.header, key: original.key.variant("256"), source: .disk)
        let other = try picture("b")
        for image in [original, variant, other] { tier.insert(image) }
        tier.remove(original.key)
        #expect(tier.image(for: original.key) == nil)
        #expect(tier.image(for: variant.key) != nil)
        tier.removeAll { $0.url == "a" }
        #expect(tier.image(for: variant.key) == nil)
        #expect(tier.image(for: other.key) != nil)
        tier.removeAll()
        #expect(tier.image(for: other.key) == nil)
        #expect(tier.statistics.bytes == 0)
        #expect(tier.indexed == 0)
    }

    @Test func emptyingGivesBackAllThatIsNotShown() throws {
        let tier = plainTier()
        let shown = try picture("shown")
        weak var hidden: Bitmap?
        func insertHidden() throws {
            let image = try picture("hidden")
            hidden = image.bitmap
            tier.insert(image)
        }
        tier.insert(shown)
        try insertHidden()
        tier.empty()
        #expect(tier.statistics.bytes == 0)
        #expect(hidden == nil)
        #expect(tier.image(for: CacheKey(url: "hidden")) == nil)
        #expect(tier.image(for: shown.key)?.bitmap === shown.bitmap)
    }

    @Test func aRevalidatedPictureTakesOnItsNewFreshness() throws {
        let tier = plainTier()
        let image = try picture("a")
        tier.insert(image)
        let later = StoredFreshness(freshUntil: Timestamp(milliseconds: 5_000))
        #expect(tier.refreshed(image.key, later, sha256: [1]) == nil, "made of other bytes")
        #expect(tier.refreshed(CacheKey(url: "b"), later, sha256: []) == nil)
        #expect(tier.refreshed(image.key, later, sha256: [])?.bitmap === image.bitmap)
        let found = try #require(tier.image(for: image.key))
        #expect(found.bitmap === image.bitmap)
        #expect(found.freshness == later)
        #expect(tier.statistics.count == 1)
    }

    /// Dropping a filled NSCache leaks its entries.
    @Test func theEndOfTheTierReleasesEverything() throws {
        weak var bitmap: Bitmap?
        func fill() throws {
            let tier = plainTier()
            for name in 0..<100 {
                let image = try picture("\(name)")
                bitmap = image.bitmap
                tier.insert(image)
            }
            #expect(bitmap != nil)
        }
        try fill()
        #expect(bitmap == nil)
    }

    /// Keys that fall into the same places, one after the other, and taken out in another order.
    @Test func findsEveryKeyAfterManyRemovals() throws {
        let tier = plainTier()
        var random = SplitMix(state: 3)
        var there: Set<Int> = []
        for _ in 0..<6_000 {
            let name = Int.random(in: 0..<2_000, using: &random)
            if there.contains(name) {
                tier.remove(CacheKey(url: "\(name)"))
                there.remove(name)
            } else {
                tier.insert(try picture("\(name)", width: 1, height: 1))
                there.insert(name)
            }
        }
        #expect((0..<2_000).filter { tier.image(for: CacheKey(url: "\($0)")) != nil } == there.sorted())
    }

    /// Eight threads look, insert, remove and empty at once: no picture under a wrong name, and the books balance.
    @Test func manyThreadsAtOnce() throws {
        let tier = plainTier(.init(byteLimit: 20_000, countLimit: 60))
        let images = try (0..<200).map { try picture("\($0)", width: 1 + $0 % 13, height: 10) }
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            var random = SplitMix(state: UInt64(thread))
            for turn in 0..<4_000 {
                let image = images[Int.random(in: 0..<images.count, using: &random)]
                switch turn % 16 {
                case 0...9:
                    if let found = tier.image(for: image.key), found.key != image.key {
                        Issue.record("a picture under a wrong name")
                    }
                case 10...13: tier.insert(image)
                case 14: tier.remove(image.key)
                default: if turn % 640 == 15 { tier.empty() } else { _ = tier.refreshed(image.key, nil, sha256: []) }
                }
                if turn % 50 == 0 {
                    let now = tier.statistics
                    if now.bytes > 20_000 || now.count > 60 { Issue.record("over the limit: \(now)") }
                }
            }
        }
        for image in images { tier.remove(image.key) }
        #expect(tier.statistics.count == 0)
        #expect(tier.statistics.bytes == 0)
        #expect(tier.indexed == 0)
    }
}

/// A tier that the machine's own memory pressure does not empty in the middle of a test.
func plainTier(
    _ configuration: MemoryTier.Configuration = .init(), time: any TimeSource = ManualTime()
) -> MemoryTier {
    var configuration = configuration
    configuration.emptiesUnderPressure = false
    return MemoryTier(configuration, time: time)
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

/// The same numbers in every run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
