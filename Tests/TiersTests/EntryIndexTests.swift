import CSQLite
import Foundation
import TestSupport
import Testing

@testable import Larder

struct EntryIndexTests {
    private let directory = TemporaryDirectory()

    private func urls(_ tier: DiskTier) -> [String] {
        tier.flush()
        return tier.volume.index.read { (database) throws(IndexDatabase.Failure) in
            var urls: [String] = []
            try database.run("SELECT url FROM entries ORDER BY seq") { row in
                urls.append(row.text(0) ?? "")
                return true
            }
            return urls
        } ?? ["no index"]
    }

    private func fill(_ tier: DiskTier, _ numbers: Range<Int>) throws {
        for number in numbers { try DiskFixtures.store(tier, DiskFixtures.key(number), [1, 2]) }
    }

    private func expected(_ numbers: some Sequence<Int>) -> [String] { numbers.map { DiskFixtures.key($0).url } }

    private func databases() -> [String] {
        directory.files(under: "state").filter { $0.hasSuffix(".sqlite") }
    }

    @Test func itHoldsTheOrderOfUse() throws {
        let tier = try DiskTier(directory: directory.path)
        try fill(tier, 0..<4)
        #expect(urls(tier) == expected(0..<4))
        _ = tier.entry(for: DiskFixtures.key(1))
        #expect(urls(tier) == expected([0, 2, 3, 1]))
        tier.remove(DiskFixtures.key(2))
        #expect(urls(tier) == expected([0, 3, 1]))
    }

    @Test func itIsMadeAnewWhereItIsOfNoUse() throws {
        do {
            let tier = try DiskTier(directory: directory.path)
            try fill(tier, 0..<20)
        }
        func damage(_ number: Int) throws {
            let path = directory("state/\(try #require(databases().first))")
            for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            switch number {
            case 0: try FileManager.default.removeItem(atPath: path)
            case 1: try FileManager.default.removeItem(atPath: directory("state/index"))
            case 2: try Data("../../etc/passwd\n".utf8).write(to: URL(fileURLWithPath: directory("state/index")))
            case 3: try Data(repeating: 7, count: 100_000).write(to: URL(fileURLWithPath: path))
            case 4: try Data().write(to: URL(fileURLWithPath: path))
            case 5:
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            case 6, 7:
                var handle: OpaquePointer?
                #expect(sqlite3_open(path, &handle) == SQLITE_OK)
                let sql = number == 6 ? "PRAGMA user_version=99" : "DROP TABLE entries; CREATE TABLE entries(a)"
                #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
                sqlite3_close(handle)
            default:
                try FileManager.default.removeItem(atPath: path)
                try FileManager.default.createSymbolicLink(
                    atPath: path, withDestinationPath: directory("elsewhere.sqlite"))
            }
        }
        for number in 0..<9 {
            try damage(number)
            let tier = try DiskTier(directory: directory.path)
            // The cache answers all the while.
            #expect(tier.entry(for: DiskFixtures.key(3)) != nil, "damage \(number)")
            tier.volume.index.reconcile()
            #expect(Set(urls(tier)) == Set(expected(0..<20)), "damage \(number)")
            #expect(tier.volume.index.isComplete, "damage \(number)")
            #expect(databases().count == 1, "damage \(number)")
        }
        #expect(!FileManager.default.fileExists(atPath: directory("elsewhere.sqlite")))
    }

    @Test func unknownEntriesAreFoundInTheOrderOfTheirTimes() throws {
        let tier = try DiskTier(directory: directory.path)
        let other = TemporaryDirectory()
        do {
            let tier = try DiskTier(directory: other.path)
            try fill(tier, 10..<13)
        }
        for (age, number) in [12, 10, 11].enumerated() {
            let file = DiskFixtures.key(number).file
            try? FileManager.default.createDirectory(
                atPath: directory(String(file.prefix(2))), withIntermediateDirectories: true)
            try FileManager.default.copyItem(atPath: other(file), toPath: directory(file))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: Double(age * 100 - 5000))],
                ofItemAtPath: directory(file))
        }
        try fill(tier, 0..<2)
        tier.flush()
        tier.volume.index.reconcile()
        #expect(urls(tier) == expected([12, 10, 11, 0, 1]))
        #expect(tier.volume.ledger.lastTotal?.count == 5)
    }

    @Test func aHitThatTheIndexDoesNotKnowIsAdopted() throws {
        let tier = try DiskTier(directory: directory.path)
        try fill(tier, 0..<2)
        // The comparison that every opening begins with must be over: it would enter the other one too.
        tier.volume.index.reconcile()
        tier.flush()
        _ = tier.volume.index.read { (database) throws(IndexDatabase.Failure) in
            try database.execute("DELETE FROM entries")
        }
        _ = tier.entry(for: DiskFixtures.key(1))
        #expect(urls(tier) == expected([1]))
    }

    @Test func rowsWithoutAFileAreDropped() throws {
        let tier = try DiskTier(directory: directory.path)
        try fill(tier, 0..<5)
        tier.flush()
        for number in [1, 3] { try FileManager.default.removeItem(atPath: directory(DiskFixtures.key(number).file)) }
        tier.volume.index.reconcile()
        #expect(urls(tier) == expected([0, 2, 4]))
        #expect(tier.volume.ledger.lastTotal?.count == 3)
    }

    /// One process finds the index to be of no use and names another; the one that has the old open goes over.
    @Test func allWriteToTheOneThatIsNamed() throws {
        let first = try DiskTier(directory: directory.path)
        try fill(first, 0..<3)
        first.flush()
        let old = try #require(databases().first)
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: directory("state/\(old)\(suffix)"))
        }
        let second = try DiskTier(directory: directory.path)
        second.volume.index.reconcile()
        #expect(databases().count == 1)
        #expect(databases().first != old)
        try fill(first, 3..<6)
        first.flush()
        #expect(Set(urls(second)) == Set(expected(0..<6)))
        #expect(Set(urls(first)) == Set(expected(0..<6)))
    }

    /// That there are none is believed for a moment, but not against what was noted here since.
    @Test func anOwnFailureIsKnownAtOnceWhereNoneWasFoundBefore() throws {
        let tier = try DiskTier(directory: directory.path)
        let key = DiskFixtures.key(1)
        tier.flush()
        #expect(tier.rememberedFailure(key) == nil)
        tier.rememberFailure(key, code: "not_an_image", until: .distantFuture)
        // While it is on its way, another one is found not to be there.
        #expect(tier.rememberedFailure(DiskFixtures.key(2)) == nil)
        tier.flush()
        #expect(tier.rememberedFailure(key)?.code == "not_an_image")
    }

    @Test func failuresAreRememberedByAll() throws {
        let time = ManualTime(now: SystemTime().now)
        let first = try DiskTier(directory: directory.path, time: time)
        let second = try DiskTier(directory: directory.path, time: time)
        let key = DiskFixtures.key(1)
        let until = time.now.adding(seconds: 100)
        first.rememberFailure(key, code: "http_status", until: until)
        #expect(first.rememberedFailure(key) == RememberedFailure(code: "http_status", until: until))
        first.flush()
        #expect(second.rememberedFailure(key) == RememberedFailure(code: "http_status", until: until))
        #expect(second.rememberedFailure(DiskFixtures.key(2)) == nil)
        // Noted by a clock that was years ahead.
        time.setWallClock(time.now.adding(seconds: -100_000_000))
        #expect(second.rememberedFailure(key) == nil)
        time.setWallClock(until)
        #expect(second.rememberedFailure(key) == nil)
        time.setWallClock(until.adding(seconds: -50))
        #expect(second.rememberedFailure(key) != nil)
        // What could be had after all is no failure any more.
        try DiskFixtures.store(first, key, [1])
        first.flush()
        #expect(second.rememberedFailure(key) == nil)
    }
}
