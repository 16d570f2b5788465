import Foundation
import TestSupport
import Testing

@testable import Larder

struct DiskTierTests {
    private let directory = TemporaryDirectory()

    @Test(arguments: [0, 1, 4096, 16 << 10, 100_000, 3_000_000])
    func aPayloadComesBack(_ size: Int) throws {
        let tier = try DiskTier(directory: directory.path)
        let payload = DiskFixtures.bytes(size)
        let written = try DiskFixtures.store(tier, DiskFixtures.key(1), payload)
        #expect(written.isStored)
        for entry in [written, try #require(tier.entry(for: DiskFixtures.key(1)))] {
            #expect(try entry.payload().isSame(as: payload))
            #expect(try entry.withPayload { Array($0) }.isSame(as: payload))
            try entry.verifyPayload()
            #expect(entry.sha256 == SHA256.digest(payload))
            #expect(entry.header?.width == 640)
            #expect(try entry.metadata().fields["etag"] == "\"v1\"")
        }
        #expect(directory.files(under: "tmp") == [])
        // The image comes first in the file, as it was received.
        let file = try Data(contentsOf: URL(fileURLWithPath: directory(written.file)))
        #expect(Array(file.prefix(size)) == payload)
    }

    /// A ledger's lock that the system does not give back must keep nobody out.
    @Test func aLedgerThatCannotBeUnlockedIsLetGoOf() throws {
        let files = FaultyFileSystem()
        let directory = TemporaryDirectory()
        let first = try DiskTier(directory: directory.path, fileSystem: files)
        let second = try DiskTier(directory: directory.path)
        try DiskFixtures.store(first, DiskFixtures.key(1), [1])
        files.keepLocks()
        #expect(try DiskFixtures.store(first, DiskFixtures.key(2), [2]).isStored)
        #expect(try DiskFixtures.store(second, DiskFixtures.key(3), [3]).isStored)
        #expect(try DiskFixtures.store(first, DiskFixtures.key(4), [4]).isStored)
    }

    @Test func anotherKeyIsAMiss() throws {
        let tier = try DiskTier(directory: directory.path)
        try DiskFixtures.store(tier, DiskFixtures.key(1), [1, 2, 3])
        #expect(tier.entry(for: DiskFixtures.key(2)) == nil)
        // The file of one key in the place of another: a miss, never a wrong picture.
        let file = directory(DiskFixtures.key(2).file)
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: directory(DiskFixtures.key(1).file), toPath: file)
        #expect(tier.entry(for: DiskFixtures.key(2)) == nil)
        #expect(tier.entry(for: DiskFixtures.key(1)) != nil)
    }

    @Test func whatIsNotCommittedLeavesNothing() throws {
        let tier = try DiskTier(directory: directory.path)
        do {
            let writer = try tier.begin(DiskFixtures.key(1))
            try DiskFixtures.bytes(200_000).withUnsafeBytes { try writer.append($0) }
            #expect(directory.files(under: "tmp").count == 1)
            writer.abandon()
            #expect(directory.files(under: "tmp") == [])
            _ = try tier.begin(DiskFixtures.key(2))
        }
        #expect(directory.files(under: "tmp") == [])
        #expect(tier.entry(for: DiskFixtures.key(1)) == nil)
    }

    @Test func aFlippedByteOfThePayloadIsFound() throws {
        let tier = try DiskTier(directory: directory.path)
        for (number, size) in [500, 100_000].enumerated() {
            let key = DiskFixtures.key(number)
            let file = URL(fileURLWithPath: directory(key.file))
            for offset in stride(from: 0, to: size, by: size / 23) {
                try DiskFixtures.store(tier, key, DiskFixtures.bytes(size))
                var bytes = try Data(contentsOf: file)
                bytes[offset] ^= 0x10
                try bytes.write(to: file)
                let entry = try #require(tier.entry(for: key))
                #expect(throws: ImageError.self) { try entry.payload() }
                #expect(throws: ImageError.self) { try entry.withPayload { $0.count } }
                // It was set aside: the next look is a miss.
                #expect(tier.entry(for: key) == nil)
            }
        }
        #expect(directory.files(under: "quarantine").count <= DiskTierConfiguration().quarantine.count)
        #expect(!directory.files(under: "quarantine").isEmpty)
    }

    @Test func aTornEntryIsSetAside() throws {
        let tier = try DiskTier(directory: directory.path)
        let key = DiskFixtures.key(1)
        try DiskFixtures.store(tier, key, DiskFixtures.bytes(5000))
        let file = URL(fileURLWithPath: directory(key.file))
        try Data(contentsOf: file).dropLast(10).write(to: file)
        #expect(tier.entry(for: key) == nil)
        #expect(!FileManager.default.fileExists(atPath: file.path))
        #expect(directory.files(under: "quarantine").count == 1)
    }

    @Test func aRefreshKeepsThePayloadAndWhatItDoesNotKnow() throws {
        let tier = try DiskTier(directory: directory.path)
        let key = DiskFixtures.key(1)
        let payload = DiskFixtures.bytes(100_000)
        let old = try DiskFixtures.store(tier, key, payload)
        var metadata = DiskFixtures.metadata(key, fields: ["ETag": "\"v2\""])
        metadata.freshness.freshUntil = Timestamp(milliseconds: 3_000_000_000_000)
        let new = try tier.refresh(old, metadata)
        #expect(new.isStored)
        let read = try #require(tier.entry(for: key))
        #expect(try read.payload().isSame(as: payload))
        #expect(read.sha256 == SHA256.digest(payload))
        #expect(read.freshness.freshUntil.milliseconds == 3_000_000_000_000)
        #expect(try read.metadata().fields["ETag"] == "\"v2\"")
        // Who has the old one open goes on reading it.
        #expect(try old.payload().isSame(as: payload))
        #expect(directory.files(under: "tmp") == [])
    }

    /// What a later version has written into an entry is there after a 304 of this one.
    @Test func unknownMetadataSurviveARefresh() throws {
        let tier = try DiskTier(directory: directory.path)
        let key = DiskFixtures.key(1)
        let old = try DiskFixtures.store(tier, key, DiskFixtures.bytes(3000))
        let file = URL(fileURLWithPath: directory(old.file))
        let later = try #require(
            EntryFormat.encode(
                try old.metadata(), payloadLength: 3000,
                payloadChecksum: EntryFormat.checksum(DiskFixtures.bytes(3000)[...]),
                storedAt: old.storedAt, cacheTime: old.tail.cacheTime,
                unknown: Array(#""blurhash":"LKO2","later":{"n":[1,null]}"#.utf8)))
        try Data(DiskFixtures.bytes(3000) + later).write(to: file)
        let entry = try #require(tier.entry(for: key))
        for _ in 0..<2 { _ = try tier.refresh(entry, DiskFixtures.metadata(key, freshUntil: 7)) }
        let read = try #require(tier.entry(for: key))
        #expect(read.freshness.freshUntil.milliseconds == 7)
        let json = try #require(
            try JSONSerialization.jsonObject(with: Data(read.tail.json)) as? [String: Any])
        #expect(json["blurhash"] as? String == "LKO2")
        #expect((json["later"] as? [String: [Any]])?["n"]?.count == 2)
        #expect(try read.payload().count == 3000)
    }

    @Test func aVariantOfAnotherSourceIsAMiss() throws {
        let tier = try DiskTier(directory: directory.path)
        let key = DiskFixtures.key(1)
        let source = try DiskFixtures.store(tier, key, [1, 2, 3])
        let variant = key.variant("64x64;jpeg;85")
        let metadata = DiskFixtures.metadata(
            variant, source: .init(key: key.hash, sha256: source.sha256), freshUntil: 5)
        try DiskFixtures.store(tier, variant, [9], metadata)
        let hit = try #require(tier.entry(for: variant))
        #expect(hit.freshness == source.freshness)
        #expect(try hit.payload() == [9])
        #expect(tier.entry(for: variant, source: source) != nil)
        let other = try DiskFixtures.store(tier, key, [4, 5, 6])
        #expect(tier.entry(for: variant) == nil)
        #expect(tier.entry(for: variant, source: other) == nil)
        tier.remove(key)
        // Without its source it stands for itself.
        #expect(try #require(tier.entry(for: variant)).freshness.freshUntil.milliseconds == 5)
    }

    @Test func metadataThatIsTooLargeIsNotStored() throws {
        let tier = try DiskTier(directory: directory.path)
        let key = DiskFixtures.key(1)
        let entry = try DiskFixtures.store(
            tier, key, [1, 2, 3],
            DiskFixtures.metadata(key, fields: ["X": String(repeating: "x", count: 70_000)]))
        #expect(!entry.isStored)
        #expect(try entry.payload() == [1, 2, 3])
        #expect(tier.entry(for: key) == nil)
        #expect(directory.files(under: "tmp") == [])
    }

    @Test func filesHaveTheModeAskedFor() throws {
        func mode(_ path: String) throws -> Int {
            try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
        }
        // What is asked for holds whatever the process's mask; new files of other tests are their owner's meanwhile.
        let mask = umask(0o077)
        defer { umask(mask) }
        for permissions: UInt32 in [0o600, 0o644] {
            var configuration = DiskTierConfiguration()
            configuration.filePermissions = permissions
            let path = directory("mode\(permissions)")
            let tier = try DiskTier(directory: path, configuration: configuration)
            let entry = try DiskFixtures.store(tier, DiskFixtures.key(1), [1])
            #expect(try mode(path) == 0o700)
            #expect(try mode("\(path)/\(entry.file)") == Int(permissions))
        }
    }
}
