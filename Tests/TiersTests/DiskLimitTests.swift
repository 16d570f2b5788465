import Foundation
import TestSupport
import Testing

@testable import Larder

struct DiskLimitTests {
    private let directory = TemporaryDirectory()
    private let time = ManualTime(now: SystemTime().now)

    private func tier(_ change: (inout DiskTierConfiguration) -> Void) throws -> DiskTier {
        var configuration = DiskTierConfiguration()
        change(&configuration)
        let tier = try DiskTier(directory: directory.path, configuration: configuration, time: time)
        // The order of use is the index's: it must be there.
        tier.reconcile()
        return tier
    }

    /// Number and bytes on disk of the entries that are there.
    private func used() throws -> (bytes: Int64, count: Int) {
        var bytes: Int64 = 0
        var count = 0
        for folder in 0..<256 {
            let name = EntryName.folderName(folder)
            for file in directory.files(under: name) {
                let size = try #require(
                    FileManager.default.attributesOfItem(atPath: directory("\(name)/\(file)"))[.size] as? Int64)
                bytes += (size + 4095) / 4096 * 4096
                count += 1
            }
        }
        return (bytes, count)
    }

    private func stored(_ tier: DiskTier, _ numbers: some Sequence<Int>) -> [Int] {
        numbers.filter { tier.volume.exists(DiskFixtures.key($0).hash) }
    }

    @Test func bytesAreHeldAtAllTimes() throws {
        let tier = try tier { $0.maximumBytes = 200_000 }
        for number in 0..<200 {
            let entry = try DiskFixtures.store(tier, DiskFixtures.key(number), DiskFixtures.bytes(100 * number))
            #expect(entry.isStored)
            let used = try used()
            #expect(used.bytes <= 200_000)
            #expect(tier.volume.ledger.lastTotal?.bytes == used.bytes)
            #expect(tier.volume.ledger.lastTotal?.count == Int64(used.count))
        }
        // Never the whole directory at once.
        #expect(try used().bytes > 150_000)
        let large = try DiskFixtures.store(tier, DiskFixtures.key(999), DiskFixtures.bytes(200_001))
        #expect(!large.isStored)
        #expect(try used().bytes > 150_000)
        #expect(directory.files(under: "tmp") == [])
    }

    /// A file that is being written back goes no sooner than the device has it: that must hold up no other process.
    @Test func noFileGoesWhileTheLedgerIsLocked() throws {
        let files = FaultyFileSystem()
        var configuration = DiskTierConfiguration()
        configuration.maximumCount = 5
        let tier = try DiskTier(
            directory: directory.path, configuration: configuration, fileSystem: files, time: time)
        for number in 0..<20 { try DiskFixtures.store(tier, DiskFixtures.key(number), [1]) }
        for _ in 0..<2 { try DiskFixtures.store(tier, DiskFixtures.key(19), [2]) }
        tier.remove(DiskFixtures.key(19))
        #expect(try tier.trim(count: 2) > 0)
        #expect(stored(tier, 0..<20).count == 2)
        #expect(files.goneUnderLock == 0)
    }

    @Test func theLeastRecentlyUsedGoFirst() throws {
        let tier = try tier { $0.maximumCount = 5 }
        for number in 0..<5 { try DiskFixtures.store(tier, DiskFixtures.key(number), [1]) }
        tier.flush()
        for number in [0, 2] { #expect(tier.entry(for: DiskFixtures.key(number)) != nil) }
        tier.flush()
        for number in 5..<8 { try DiskFixtures.store(tier, DiskFixtures.key(number), [1]) }
        #expect(stored(tier, 0..<8) == [0, 2, 5, 6, 7])
        // A use that is not written yet counts as well.
        _ = tier.entry(for: DiskFixtures.key(0))
        try DiskFixtures.store(tier, DiskFixtures.key(8), [1])
        #expect(stored(tier, 0..<9) == [0, 5, 6, 7, 8])
    }

    @Test func theFirstStoredGoFirstWhereAskedFor() throws {
        let tier = try tier {
            $0.maximumCount = 3
            $0.eviction = .firstStored
        }
        for number in 0..<3 { try DiskFixtures.store(tier, DiskFixtures.key(number), [1]) }
        tier.flush()
        _ = tier.entry(for: DiskFixtures.key(0))
        tier.flush()
        try DiskFixtures.store(tier, DiskFixtures.key(3), [1])
        #expect(stored(tier, 0..<4) == [1, 2, 3])
    }

    /// Who has an entry open reads it to its end, whatever becomes of its name.
    @Test func whatIsEvictedIsReadToItsEnd() throws {
        let tier = try tier { $0.maximumCount = 1 }
        let payload = DiskFixtures.bytes(100_000)
        try DiskFixtures.store(tier, DiskFixtures.key(1), payload)
        let entry = try #require(tier.entry(for: DiskFixtures.key(1)))
        tier.flush()
        #expect(try DiskFixtures.store(tier, DiskFixtures.key(2), [1]).isStored)
        #expect(stored(tier, 1...2) == [2])
        #expect(try entry.payload().isSame(as: payload))
        #expect(tier.usage?.count == 1)
    }

    @Test func replacingCountsOnce() throws {
        let tier = try tier { _ in }
        for size in [10, 100_000, 5000] {
            try DiskFixtures.store(tier, DiskFixtures.key(1), DiskFixtures.bytes(size))
            #expect(tier.volume.ledger.lastTotal?.bytes == (try used().bytes))
            #expect(tier.volume.ledger.lastTotal?.count == 1)
        }
        tier.remove(DiskFixtures.key(1))
        #expect(tier.volume.ledger.lastTotal?.bytes == 0)
        #expect(tier.volume.ledger.lastTotal?.count == 0)
        tier.remove(DiskFixtures.key(1))
        #expect(tier.volume.ledger.lastTotal?.count == 0)
    }

    @Test func twoTiersHoldOneLimit() throws {
        let tiers = [try tier { $0.maximumCount = 10 }, try tier { $0.maximumCount = 10 }]
        for number in 0..<60 {
            let entry = try DiskFixtures.store(tiers[number % 2], DiskFixtures.key(number), [1])
            #expect(entry.isStored)
            #expect(try used().count <= 10)
        }
        #expect(try used().count == 10)
    }

    @Test func whatIsOlderThanTheAgeIsAMiss() throws {
        let tier = try tier { $0.maximumAge = 1000 }
        try DiskFixtures.store(tier, DiskFixtures.key(1), [1])
        time.advance(seconds: 900)
        try DiskFixtures.store(tier, DiskFixtures.key(2), [1])
        #expect(tier.entry(for: DiskFixtures.key(1)) != nil)
        time.advance(seconds: 200)
        #expect(tier.entry(for: DiskFixtures.key(1)) == nil)
        #expect(tier.entry(for: DiskFixtures.key(2)) != nil)
        tier.removeAged()
        #expect(stored(tier, 1...2) == [2])
    }

    /// Years back, years forward: nothing is evicted for it, and nothing stays for ever.
    @Test func aClockThatIsSetEvictsNothing() throws {
        let tier = try tier { $0.maximumAge = 1000 }
        let start = time.now
        try DiskFixtures.store(tier, DiskFixtures.key(1), [1])
        for years in [5, -5, 20, 0] {
            time.setWallClock(start.adding(seconds: Int64(years) * 31_557_600))
            try DiskFixtures.store(tier, DiskFixtures.key(2), [1])
            #expect(tier.entry(for: DiskFixtures.key(1)) != nil)
            tier.removeAged()
            #expect(stored(tier, 1...2) == [1, 2])
            tier.flush()
        }
        time.setWallClock(start.adding(seconds: -30 * 31_557_600))
        for _ in 0..<3 {
            time.advance(seconds: 600)
            try DiskFixtures.store(tier, DiskFixtures.key(2), [1])
        }
        tier.removeAged()
        #expect(stored(tier, 1...2) == [2])
    }

    @Test func aLostUsageFileIsCountedAnew() throws {
        do {
            let tier = try tier { _ in }
            for number in 0..<20 { try DiskFixtures.store(tier, DiskFixtures.key(number), DiskFixtures.bytes(5000)) }
        }
        let usage = URL(fileURLWithPath: directory("state/usage"))
        for damage in 0..<4 {
            switch damage {
            case 0: try FileManager.default.removeItem(at: usage)
            case 1: try Data(count: 100).write(to: usage)
            case 2: try Data(repeating: 0xFF, count: UsagePage.size).write(to: usage)
            default:
                var bytes = try Data(contentsOf: usage)
                bytes[70] ^= 1
                try bytes.write(to: usage)
            }
            let tier = try tier { $0.maximumCount = 20 }
            try DiskFixtures.store(tier, DiskFixtures.key(1), DiskFixtures.bytes(5000))
            tier.volume.index.reconcile()
            #expect(tier.volume.ledger.lastTotal?.count == 20)
            #expect(tier.volume.ledger.lastTotal?.bytes == (try used().bytes))
        }
    }

    /// The usage file taken away under running tiers: they meet again at the new one.
    @Test func aUsageFileThatGoesWhileRunningIsMadeAnew() throws {
        let tiers = [try tier { $0.maximumCount = 10 }, try tier { $0.maximumCount = 10 }]
        for number in 0..<5 { try DiskFixtures.store(tiers[number % 2], DiskFixtures.key(number), [1]) }
        try FileManager.default.removeItem(atPath: directory("state/usage"))
        for number in 5..<40 {
            try DiskFixtures.store(tiers[number % 2], DiskFixtures.key(number), [1])
            if number == 6 { for tier in tiers { tier.volume.index.reconcile() } }
            if number > 6 { #expect(try used().count <= 10) }
        }
    }

    /// A process that was killed between its mark and its sums.
    @Test func aMarkedFolderIsCountedAnew() throws {
        let tier = try tier { _ in }
        let key = DiskFixtures.key(1)
        try DiskFixtures.store(tier, key, DiskFixtures.bytes(5000))
        let usage = URL(fileURLWithPath: directory("state/usage"))
        var page = try #require(UsagePage(Array(try Data(contentsOf: usage))))
        page.add(EntryName.folder(key.hash), bytes: 1 << 30, count: 7)
        page.markDirty(EntryName.folder(key.hash))
        page.seal()
        try Data(page.bytes).write(to: usage)
        #expect(page.total == nil)
        try DiskFixtures.store(tier, DiskFixtures.key(2), [1])
        #expect(tier.volume.ledger.lastTotal?.count == 2)
        #expect(tier.volume.ledger.lastTotal?.bytes == (try used().bytes))
    }

    @Test func aLowerLimitTrimsInBatches() throws {
        do {
            let tier = try tier { _ in }
            for number in 0..<300 { try DiskFixtures.store(tier, DiskFixtures.key(number), [1]) }
            tier.flush()
        }
        let tier = try tier { $0.maximumCount = 20 }
        tier.volume.trim(bytes: .max, count: 20, flush: true) { true }
        #expect(stored(tier, 0..<300) == Array(280..<300))
    }
}
