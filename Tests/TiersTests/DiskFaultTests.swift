import Foundation
import TestSupport
import Testing

@testable import Larder

/// Every call to the file system made to fail in turn: loads go on, nothing is left behind, nothing is lost.
struct DiskFaultTests {
    private static let codes: [Int32] = [EIO, ENOSPC, EMFILE, EROFS, EACCES]

    private final class Place {
        let directory = TemporaryDirectory()
        let files = FaultyFileSystem()
        let warnings = Lock<[String]>([])
        let tier: DiskTier

        init(count: Int64 = 1000) throws {
            var configuration = DiskTierConfiguration()
            configuration.maximumCount = count
            configuration.warnings = { [warnings] text in warnings.withLock { $0.append(text) } }
            tier = try DiskTier(directory: directory.path, configuration: configuration, fileSystem: files)
            tier.reconcile()
            try Data("mine".utf8).write(to: URL(fileURLWithPath: directory("00-notes.txt")))
        }

        /// Runs `body` with one call after the other failing, until one run has fewer calls.
        func eachCall(
            _ code: Int32, limit: Int = 400, prepare: () throws -> Void = {}, _ body: (Int) throws -> Void
        ) throws -> Int {
            for number in 0..<limit {
                files.heal()
                try prepare()
                tier.flush()
                files.fail(at: number, code: code, onThisThread: true)
                try body(number)
                let failed = files.failed
                files.heal()
                #expect(directory.files(under: "tmp") == [], "call \(number) \(String(describing: failed))")
                if failed == nil { return number }
            }
            return limit
        }

        func check() throws {
            files.heal()
            // What failed behind a rename: nothing is counted wrong.
            #expect(try tier.recount().wrongFolders == 0)
            let found = tier.verify(repair: false)
            #expect(found.isSound, "\(found)")
            #expect(try String(contentsOfFile: directory("00-notes.txt"), encoding: .utf8) == "mine")
        }
    }

    @Test(arguments: codes)
    func commit(_ code: Int32) throws {
        let place = try Place()
        let payload = DiskFixtures.bytes(70_000)
        let calls = try place.eachCall(code) { number in
            let entry = try DiskFixtures.store(place.tier, DiskFixtures.key(number), payload)
            // Stored or not: the load has its image.
            place.files.heal()
            #expect(try entry.payload().isSame(as: payload))
            let hit = place.tier.entry(for: DiskFixtures.key(number))
            #expect((hit != nil) == entry.isStored || hit != nil)
            if let hit { #expect(try hit.payload().isSame(as: payload)) }
        }
        #expect(calls > 8)
        #expect(place.warnings.withLock { $0.count } <= 1)
        try place.check()
        #expect(try DiskFixtures.store(place.tier, DiskFixtures.key(9999), payload).isStored)
    }

    @Test(arguments: codes)
    func evict(_ code: Int32) throws {
        let place = try Place(count: 4)
        var next = 0
        func fill() throws {
            for _ in 0..<8 where try place.tier.recount().count < 4 {
                try DiskFixtures.store(place.tier, DiskFixtures.key(next), [1])
                next += 1
            }
            #expect(try place.tier.recount().count == 4)
        }
        func evict(_ call: Int) throws {
            let entry = try DiskFixtures.store(place.tier, DiskFixtures.key(next), [1, 2, 3])
            next += 1
            place.files.heal()
            #expect(try entry.payload() == [1, 2, 3])
            #expect(try place.tier.recount().count <= 4)
        }
        let calls = try place.eachCall(code, prepare: fill, evict)
        #expect(calls > 10)
        try place.check()
    }

    @Test(arguments: codes, [false, true])
    func hit(_ code: Int32, _ keeps: Bool) throws {
        let place = try Place()
        let payloads = [1000, 70_000].map { DiskFixtures.bytes($0) }
        for (number, payload) in payloads.enumerated() {
            let key = DiskFixtures.key(number)
            try DiskFixtures.store(place.tier, key, payload)
            let calls = try place.eachCall(code) { call in
                if let entry = place.tier.entry(for: key) {
                    do throws(ImageError) {
                        let read = keeps ? try entry.payload() : try entry.withPayload { Array($0) }
                        #expect(read.isSame(as: payload))
                    } catch {
                        #expect(error.code == "cache_unavailable", "call \(call)")
                    }
                }
                place.files.heal()
                // A fault of the disk is no fault of the entry: it is not set aside.
                #expect(place.tier.entry(for: key) != nil, "call \(call)")
            }
            #expect(calls >= (payload.count < EntryReader.first ? 2 : 4))
        }
        #expect(place.directory.files(under: "quarantine") == [])
        try place.check()
    }

    @Test(arguments: codes)
    func refresh(_ code: Int32) throws {
        let place = try Place()
        let key = DiskFixtures.key(1)
        let payload = DiskFixtures.bytes(70_000)
        func store() throws { try DiskFixtures.store(place.tier, key, payload) }
        func confirm(_ call: Int) throws {
            place.files.heal()
            let entry = try #require(place.tier.entry(for: key))
            place.files.fail(at: call, code: code, onThisThread: true)
            let fresh = try place.tier.refresh(entry, DiskFixtures.metadata(key, freshUntil: 7))
            place.files.heal()
            #expect(try fresh.payload().isSame(as: payload))
            #expect(try #require(place.tier.entry(for: key)).payload().isSame(as: payload))
        }
        let calls = try place.eachCall(code, prepare: store, confirm)
        #expect(calls > 10)
        try place.check()
    }

    /// The index made anew and the files counted, with every call failing in turn: the next attempt finds everything.
    @Test(arguments: [EIO, ENOSPC])
    func rebuild(_ code: Int32) throws {
        let directory = TemporaryDirectory()
        // In few folders: what is done for one is done for each.
        let keys = (0...).lazy.map(DiskFixtures.key).filter { EntryName.folder($0.hash) < 3 }.prefix(8)
        do {
            let tier = try DiskTier(directory: directory.path)
            for key in keys { try DiskFixtures.store(tier, key, [1]) }
        }
        let files = FaultyFileSystem()
        func forget() throws {
            for name in directory.files(under: "state") where name != "locks" {
                try FileManager.default.removeItem(atPath: directory("state/\(name)"))
            }
        }
        var number = 0
        while number < 1000 {
            try forget()
            files.fail(at: number, code: code)
            do throws(ImageError) {
                var tier = try DiskTier(directory: directory.path, fileSystem: files)
                tier.reconcile()
                files.heal()
                // What could not be looked at is not known; it is not counted as nothing.
                if let known = tier.usage?.count {
                    #expect(known == 8, "call \(number) \(String(describing: files.failed))")
                }
                // One that could only be opened for reading stays so; the next one does not.
                if tier.volume.directory.readOnlyReason != nil { tier = try DiskTier(directory: directory.path) }
                tier.reconcile()
                tier.reconcile()
                let failed = String(describing: files.failed)
                #expect(tier.usage?.count == 8, "call \(number) \(failed)")
                #expect(try tier.count() == 8, "call \(number) \(failed)")
                for key in keys { #expect(tier.entry(for: key) != nil, "call \(number) \(failed)") }
            } catch {
                // The directory itself could not be opened or looked at: said at once.
                #expect(error.code == "cache_unavailable", "call \(number)")
                #expect(number < 10)
            }
            files.heal()
            if files.failed == nil { break }
            number += 1
        }
        #expect(number > 60 && number < 1000)
        #expect(directory.files(under: "quarantine") == [])
        #expect(directory.files(under: "tmp") == [])
    }

    /// Who is killed behind a rename has marked the folder before: it is counted anew.
    @Test func aFolderIsMarkedBeforeItIsChanged() throws {
        let place = try Place()
        let key = DiskFixtures.key(1)
        place.files.fail(.rename, code: EIO)
        #expect(try !DiskFixtures.store(place.tier, key, [1]).isStored)
        place.files.fail(.rename, code: nil)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: place.directory("state/usage")))
        let page = try #require(UsagePage([UInt8](bytes)))
        #expect(page.dirtyFolders == [EntryName.folder(key.hash)])
        #expect(page.total == nil)
        try place.check()
        #expect(try DiskFixtures.store(place.tier, key, [1]).isStored)
    }

    @Test func aDirectoryThatIsDeletedIsMadeAgain() throws {
        let time = ManualTime(now: SystemTime().now)
        let directory = TemporaryDirectory()
        let tier = try DiskTier(directory: directory("cache"), time: time)
        try DiskFixtures.store(tier, DiskFixtures.key(1), [1])
        // The index's thread makes and removes files of its own, over which a removal stumbles.
        tier.flush()
        for _ in 0..<100 where FileManager.default.fileExists(atPath: directory("cache")) {
            try? FileManager.default.removeItem(atPath: directory("cache"))
        }
        #expect(tier.entry(for: DiskFixtures.key(1)) == nil)
        let entry = try DiskFixtures.store(tier, DiskFixtures.key(2), [2])
        #expect(entry.isStored)
        #expect(try #require(tier.entry(for: DiskFixtures.key(2))).payload() == [2])
        #expect(FileManager.default.fileExists(atPath: directory("cache/.larder")))
    }

    @Test func aDirectoryThatIsReplacedIsNoticed() throws {
        let time = ManualTime(now: SystemTime().now)
        let directory = TemporaryDirectory()
        let warnings = Lock<[String]>([])
        var configuration = DiskTierConfiguration()
        configuration.warnings = { text in warnings.withLock { $0.append(text) } }
        let tier = try DiskTier(directory: directory("cache"), configuration: configuration, time: time)
        try DiskFixtures.store(tier, DiskFixtures.key(1), [1])
        try FileManager.default.moveItem(atPath: directory("cache"), toPath: directory("old"))
        // Somebody else's directory in its place: nothing of ours goes there.
        try FileManager.default.createDirectory(atPath: directory("cache"), withIntermediateDirectories: false)
        try Data("x".utf8).write(to: URL(fileURLWithPath: directory("cache/thesis.txt")))
        time.advance(seconds: 2)
        try DiskFixtures.store(tier, DiskFixtures.key(2), [2])
        #expect(directory.files(under: "cache") == ["thesis.txt"])
        tier.flush()
        let told = warnings.withLock { $0 }
        #expect(told.count == 1, "\(told)")
        try FileManager.default.removeItem(atPath: directory("cache"))
        time.advance(seconds: 2)
        #expect(try DiskFixtures.store(tier, DiskFixtures.key(3), [3]).isStored)
        #expect(FileManager.default.fileExists(atPath: directory("cache/\(DiskFixtures.key(3).file)")))
    }

    /// A full device costs the least recently used, a bounded number of them and once, and not the new image.
    @Test func aFullDeviceMakesRoom() throws {
        let place = try Place()
        // Five blocks each: 1 MiB is 52 of them.
        let payload = DiskFixtures.bytes(20_000)
        func fill() throws {
            for number in 1000..<1120 where !place.tier.volume.exists(DiskFixtures.key(number).hash) {
                try DiskFixtures.store(place.tier, DiskFixtures.key(number), payload)
            }
        }
        let calls = try place.eachCall(ENOSPC, prepare: fill) { number in
            let entry = try DiskFixtures.store(place.tier, DiskFixtures.key(number), DiskFixtures.bytes(70_000))
            let failed = place.files.failed
            place.files.heal()
            #expect(try entry.payload().count == 70_000)
            guard let failed, [.write, .rename, .open, .makeDirectory].contains(failed.call) else { return }
            #expect(place.tier.entry(for: DiskFixtures.key(number)) != nil, "call \(number) \(failed)")
            #expect(try place.tier.recount().count >= 120 - 60, "call \(number) \(failed)")
        }
        #expect(calls > 8)
        #expect(place.warnings.withLock { $0.count } == 1)
        try place.check()
    }

    /// While the sum of the directory is not known, images load and are not stored.
    @Test func nothingIsStoredWhileTheTotalIsUnknown() throws {
        let directory = TemporaryDirectory()
        do {
            let tier = try DiskTier(directory: directory.path)
            for number in 0..<10 { try DiskFixtures.store(tier, DiskFixtures.key(number), [1]) }
        }
        try FileManager.default.removeItem(atPath: directory("state/usage"))
        let files = FaultyFileSystem()
        files.fail(.list, code: EIO)
        let tier = try DiskTier(directory: directory.path, fileSystem: files)
        for number in 20..<23 {
            let entry = try DiskFixtures.store(tier, DiskFixtures.key(number), [1, 2])
            #expect(!entry.isStored)
            #expect(try entry.payload() == [1, 2])
            #expect(tier.entry(for: DiskFixtures.key(number)) == nil)
        }
        #expect(try tier.entry(for: DiskFixtures.key(1))?.payload() == [1])
        #expect(tier.usage == nil)
        #expect(directory.files(under: "tmp") == [])
        files.heal()
        tier.reconcile()
        #expect(tier.usage?.count == 10)
        #expect(try DiskFixtures.store(tier, DiskFixtures.key(20), [1, 2]).isStored)
    }

    /// A kept beginning survives a fault of the moment.
    @Test(arguments: codes)
    func resume(_ code: Int32) throws {
        let place = try Place()
        let payload = DiskFixtures.bytes(200_000)
        let key = DiskFixtures.key(1)
        func keep() throws {
            place.tier.resume(key)?.abandon()
            let writer = try place.tier.begin(key)
            try payload.withUnsafeBytes { try writer.append($0) }
            writer.keepPartial(DiskFixtures.metadata(key), validator: "\"v1\"")
        }
        for number in 0..<100 {
            place.files.heal()
            try keep()
            place.files.fail(at: number, code: code, onThisThread: true)
            let writer = place.tier.resume(key)
            let failed = place.files.failed
            place.files.heal()
            let again = try #require(writer ?? place.tier.resume(key), "call \(number) \(String(describing: failed))")
            #expect(again.resumed?.bytes == 200_000)
            again.abandon()
            #expect(place.directory.files(under: "tmp") == [])
            if failed == nil { break }
        }
    }
}
