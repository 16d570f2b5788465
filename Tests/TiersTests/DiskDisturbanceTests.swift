import Foundation
import TestSupport
import Testing

@testable import Larder

/// What other programs and other processes do to a cache directory that is in use.
struct DiskDisturbanceTests {
    private let directory = TemporaryDirectory()
    private let time = ManualTime(now: SystemTime().now)

    private func tier(
        count: Int64 = 1000, fileSystem: any FileSystem = PosixFileSystem()
    ) throws -> DiskTier {
        var configuration = DiskTierConfiguration()
        configuration.maximumCount = count
        return try DiskTier(
            directory: directory.path, configuration: configuration, fileSystem: fileSystem, time: time)
    }

    private func stored(_ tier: DiskTier, _ numbers: Range<Int>) -> [Int] {
        numbers.filter { tier.volume.exists(DiskFixtures.key($0).hash) }
    }

    @Test func filesThatOthersHaveRemovedCountNoMore() throws {
        let tier = try tier(count: 5)
        tier.reconcile()
        for number in 0..<5 { try DiskFixtures.store(tier, DiskFixtures.key(number), [1]) }
        tier.flush()
        for number in 0..<5 { try FileManager.default.removeItem(atPath: directory(DiskFixtures.key(number).file)) }
        for number in 5..<8 { #expect(try DiskFixtures.store(tier, DiskFixtures.key(number), [1]).isStored) }
        #expect(stored(tier, 0..<8) == [5, 6, 7])
        #expect(tier.usage?.count == 3)
    }

    /// `rm -rf cache/*`: the marker stays, and so does the directory.
    @Test func aDirectoryThatIsEmptiedIsFurnishedAgain() throws {
        let tier = try tier()
        try DiskFixtures.store(tier, DiskFixtures.key(1), [1])
        tier.flush()
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) where !name.hasPrefix(".") {
            try FileManager.default.removeItem(atPath: directory(name))
        }
        time.advance(seconds: 2)
        #expect(tier.entry(for: DiskFixtures.key(1)) == nil)
        #expect(try DiskFixtures.store(tier, DiskFixtures.key(2), [2]).isStored)
        tier.flush()
        let other = try self.tier()
        #expect(other.entry(for: DiskFixtures.key(2)) != nil)
        #expect(try other.count() == 1)
        #expect(other.usage?.count == 1)
    }

    @Test func whatAnotherProcessHasUsedMeanwhileStays() throws {
        let (first, second) = (try tier(count: 6), try tier(count: 6))
        first.reconcile()
        for number in 0..<6 { try DiskFixtures.store(first, DiskFixtures.key(number), [1]) }
        first.flush()
        // Takes up the order as it is now.
        try DiskFixtures.store(first, DiskFixtures.key(6), [1])
        first.flush()
        time.advance(seconds: 3)
        for number in [1, 2] { #expect(second.entry(for: DiskFixtures.key(number)) != nil) }
        second.flush()
        for number in 7..<9 { try DiskFixtures.store(first, DiskFixtures.key(number), [1]) }
        #expect(stored(first, 0..<9) == [1, 2, 5, 6, 7, 8])
    }

    @Test func clearingTouchesNothingThatIsNotOurs() throws {
        let tier = try tier()
        let key = DiskFixtures.key(1)
        try DiskFixtures.store(tier, key, [1])
        let foreign = ["tmp/movie.part", "tmp/\(key.hash).part.mine", "quarantine/notes.txt", "quarantine/a-1"]
        try FileManager.default.createDirectory(atPath: directory("quarantine"), withIntermediateDirectories: true)
        for name in foreign { try Data("mine".utf8).write(to: URL(fileURLWithPath: directory(name))) }
        let ours = ["tmp/\(key.hash).part", "quarantine/\(key.hash)-17"]
        for name in ours { try Data("ours".utf8).write(to: URL(fileURLWithPath: directory(name))) }
        #expect(try tier.clear() == 1)
        for name in foreign { #expect(FileManager.default.fileExists(atPath: directory(name)), "\(name)") }
        for name in ours { #expect(!FileManager.default.fileExists(atPath: directory(name)), "\(name)") }
    }

    @Test func clearingAURLTakesWhatHasNoEntry() throws {
        let tier = try tier()
        let key = CacheKey(url: DiskFixtures.key(1).url, partition: String(repeating: "ab", count: 32))
        let other = DiskFixtures.key(2)
        for key in [key, other] {
            tier.rememberFailure(key, code: "not_an_image", until: .distantFuture)
            let writer = try tier.begin(key)
            try [1, 2, 3].withUnsafeBytes { try writer.append($0) }
            writer.keepPartial(DiskFixtures.metadata(key), validator: "\"v\"")
        }
        tier.flush()
        #expect(try tier.clear(urls: [key.url]) == 0)
        #expect(tier.rememberedFailure(key) == nil)
        #expect(tier.resume(key) == nil)
        #expect(tier.rememberedFailure(other) != nil)
        #expect(tier.resume(other) != nil)
    }

    /// The sums of another run of the machine are not believed: they are counted first.
    @Test func trimmingAfterAStartOfTheMachineCountsFirst() throws {
        let first = try tier()
        for number in 0..<6 { try DiskFixtures.store(first, DiskFixtures.key(number), [1]) }
        first.reconcile()
        first.close()
        let path = URL(fileURLWithPath: directory("state/usage"))
        var page = try #require(UsagePage(Array(try Data(contentsOf: path))))
        page.setBoot([UInt8](repeating: 7, count: 16))
        page.seal()
        try Data(page.bytes).write(to: path)
        #expect(try tier().trim(count: 2) == 4)
    }

    @Test func aReadOnlyDirectoryIsReadAndSaysSo() throws {
        let first = try tier()
        for number in 0..<3 { try DiskFixtures.store(first, DiskFixtures.key(number), [1]) }
        first.close()
        let files = FaultyFileSystem()
        files.fail(.access, code: EROFS)
        let tier = try tier(fileSystem: files)
        #expect(tier.readOnlyReason != nil)
        #expect(tier.entry(for: DiskFixtures.key(1)) != nil)
        #expect(try tier.count() == 3)
        #expect(tier.verify(repair: false).whole == 3 && tier.verify(repair: false).isSound)
        #expect(try !DiskFixtures.store(tier, DiskFixtures.key(7), [1]).isStored)
        for remove in [{ try tier.trim(count: 1) }, { try tier.clear() }, { try tier.clear(urls: ["a"]) }] {
            let error = #expect(throws: ImageError.self) { try remove() }
            #expect(error?.code == "cache_unavailable")
        }
        #expect(stored(tier, 0..<3) == [0, 1, 2])
    }

    /// How long what was set aside is kept counts from when it was.
    @Test func anOldEntryThatIsSetAsideStaysForAWhile() throws {
        let tier = try tier()
        for number in 0..<2 {
            try DiskFixtures.store(tier, DiskFixtures.key(number), DiskFixtures.bytes(1000))
            // At once: the index's thread may find the damage first.
            let damaged = directory("damaged")
            try Data(repeating: 1, count: 1000).write(to: URL(fileURLWithPath: damaged))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: -90 * 86_400)], ofItemAtPath: damaged)
            try #require(rename(damaged, directory(DiskFixtures.key(number).file)) == 0)
            #expect(tier.entry(for: DiskFixtures.key(number)) == nil)
        }
        #expect(directory.files(under: "quarantine").count == 2)
        time.advance(seconds: 40 * 86_400)
        try DiskFixtures.store(tier, DiskFixtures.key(2), [1])
        try Data([1]).write(to: URL(fileURLWithPath: directory("damaged")))
        try #require(rename(directory("damaged"), directory(DiskFixtures.key(2).file)) == 0)
        #expect(tier.entry(for: DiskFixtures.key(2)) == nil)
        #expect(directory.files(under: "quarantine").count == 1)
    }

    @Test func whatIsNoFileInAnEntrysPlaceWasNeverCounted() throws {
        let tier = try tier()
        let key = DiskFixtures.key(1)
        try DiskFixtures.store(tier, key, [1])
        tier.remove(key)
        try FileManager.default.createSymbolicLink(
            atPath: directory(key.file), withDestinationPath: "/\(String(repeating: "x", count: 3000))")
        #expect(try DiskFixtures.store(tier, key, DiskFixtures.bytes(9000)).isStored)
        let total = try #require(tier.usage)
        let counted = try tier.recount()
        #expect(total.count == 1 && counted.count == 1 && total.bytes == counted.bytes && counted.wrongFolders == 0)
    }

    @Test func theIndexIsForItsOwnerOnly() throws {
        let tier = try tier()
        try DiskFixtures.store(tier, DiskFixtures.key(1), [1])
        tier.flush()
        let files = directory.files(under: "state")
        #expect(files.contains { $0.hasSuffix(".sqlite") } && files.contains { $0.hasSuffix("-wal") })
        for file in files {
            let attributes = try FileManager.default.attributesOfItem(atPath: directory("state/\(file)"))
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(file)")
        }
    }

    @Test func anIndexThatCannotBeOpenedForAMomentIsKept() {
        #expect(!IndexDatabase.Failure(code: 14, message: "unable to open").isFatal)
        #expect(IndexDatabase.Failure(code: 11, message: "malformed").isFatal)
    }
}
