import Foundation
import TestSupport
import Testing

@testable import Larder

struct UpkeepTests {
    private let directory = TemporaryDirectory()

    private func filled(_ count: Int = 6) throws -> DiskTier {
        let tier = try DiskTier(directory: directory("cache"))
        tier.reconcile()
        for number in 0..<count {
            try DiskFixtures.store(tier, DiskFixtures.key(number), DiskFixtures.bytes(1000 * (number + 1)))
        }
        return tier
    }

    private func urls(_ tier: DiskTier, _ change: (inout EntryQuery) -> Void) throws -> [String] {
        var query = EntryQuery()
        change(&query)
        var urls: [String] = []
        try tier.list(query) { row in
            urls.append(row.url)
            return true
        }
        return urls
    }

    private func expected(_ numbers: [Int]) -> [String] { numbers.map { DiskFixtures.key($0).url } }

    @Test func listsInEveryOrder() throws {
        let tier = try filled()
        _ = tier.entry(for: DiskFixtures.key(2))
        #expect(try urls(tier) { $0.limit = 2 } == expected([2, 5]))
        #expect(try urls(tier) { $0.descending = false } == expected([0, 1, 3, 4, 5, 2]))
        #expect(try urls(tier) { $0.order = .url } == expected([5, 4, 3, 2, 1, 0]))
        #expect(
            try urls(tier) {
                $0.order = .bytes
                $0.descending = false
                $0.limit = 2
                $0.offset = 1
            } == expected([1, 2]))
        #expect(try urls(tier) { $0.search = "/3.jpg" } == expected([3]))
        #expect(try urls(tier) { $0.search = "%" } == [])
        #expect(try urls(tier) { $0.format = .png } == [])
        #expect(try tier.count() == 6)
        var query = EntryQuery()
        query.search = "images/1"
        #expect(try tier.count(query) == 1)
    }

    @Test func tellsVariantsAndPrivateOnesApart() throws {
        let tier = try filled(1)
        let key = DiskFixtures.key(0)
        try DiskFixtures.store(tier, key.variant("64"), [1])
        let own = CacheKey(url: "https://example.com/own", partition: String(repeating: "a", count: 64))
        var metadata = DiskFixtures.metadata(own)
        metadata.isPrivate = true
        try DiskFixtures.store(tier, own, [1], metadata)
        #expect(try urls(tier) { $0.variants = true } == [key.url])
        #expect(try urls(tier) { $0.variants = false }.count == 2)
        #expect(try urls(tier) { $0.includesPrivate = false }.count == 2)
        let statistics = try tier.statistics()
        #expect(statistics.entries.count == 3)
        #expect(statistics.variants.count == 1)
        #expect(statistics.privateEntries.count == 1)
        #expect(statistics.formats["jpeg"]?.count == 3)
        #expect(statistics.entries.bytes == tier.usage?.bytes)
        #expect(statistics.stale.count == 0)
    }

    @Test func verifyFindsWhatIsWrongAndRepairs() throws {
        let tier = try filled()
        tier.flush()
        func file(_ number: Int) -> URL { URL(fileURLWithPath: directory("cache/\(DiskFixtures.key(number).file)")) }
        var bytes = try Data(contentsOf: file(0))
        bytes[10] ^= 1
        try bytes.write(to: file(0))
        try Data(contentsOf: file(1)).dropLast(5).write(to: file(1))
        // A file of one key under the name of another, and one that is not ours.
        try Data(contentsOf: file(3)).write(to: file(2))
        let foreign = file(4).deletingLastPathComponent().appendingPathComponent("notes.txt")
        try Data("mine".utf8).write(to: foreign)
        let leftover = directory("cache/tmp/00000000000000ff-3.tmp")
        try Data("x".utf8).write(to: URL(fileURLWithPath: leftover))

        var problems: [String: String] = [:]
        var calls = 0
        let found = tier.verify(
            repair: false,
            progress: { _ in
                calls += 1
                return true
            }, found: { problems[$0.file] = $0.problem })
        #expect(found.damaged == 3)
        #expect(found.whole == 3)
        #expect(found.foreign == 1)
        #expect(found.leftovers == 1)
        #expect(!found.isSound)
        #expect(calls == 6)
        #expect(problems[DiskFixtures.key(0).file] == "checksum of the image")
        #expect(problems[DiskFixtures.key(2).file] == "another entry's name")
        #expect(FileManager.default.fileExists(atPath: leftover))
        #expect(directory.files(under: "cache/quarantine") == [])

        _ = tier.verify(repair: true)
        let after = tier.verify(repair: false)
        #expect(after.isSound)
        #expect(after.whole == 3)
        #expect(directory.files(under: "cache/quarantine").count == 3)
        #expect(!FileManager.default.fileExists(atPath: leftover))
        #expect(try String(contentsOf: foreign, encoding: .utf8) == "mine")
        #expect(try tier.count() == 3)
    }

    @Test func trimsToWhatIsAskedFor() throws {
        let tier = try filled()
        _ = tier.entry(for: DiskFixtures.key(0))
        #expect(try tier.trim(count: 3) == 3)
        #expect(try urls(tier) { $0.descending = false } == expected([4, 5, 0]))
        let bytes = try #require(tier.usage?.bytes)
        #expect(try tier.trim(bytes: bytes - 1) == 1)
        #expect(try urls(tier) { $0.descending = false } == expected([5, 0]))
        #expect(try tier.trim(age: 1000) == 0)
        #expect(try tier.trim(bytes: 0) == 2)
        #expect(tier.usage?.count == 0)
    }

    @Test func clearsEverythingOrOneURL() throws {
        let tier = try filled()
        let key = DiskFixtures.key(1)
        try DiskFixtures.store(tier, key.variant("64"), [1])
        try DiskFixtures.store(tier, CacheKey(url: key.url, partition: "p"), [1])
        #expect(try tier.clear(urls: [key.url, "https://example.com/none"]) == 3)
        #expect(tier.entry(for: key) == nil)
        #expect(try tier.count() == 5)
        tier.rememberFailure(key, code: "x", until: .distantFuture)
        let writer = try tier.begin(key)
        try [1, 2, 3].withUnsafeBytes { try writer.append($0) }
        writer.keepPartial(DiskFixtures.metadata(key), validator: "\"v\"")
        try Data("mine".utf8).write(to: URL(fileURLWithPath: directory("cache/notes.txt")))
        #expect(try tier.clear() == 5)
        #expect(tier.usage?.count == 0)
        #expect(try tier.count() == 0)
        #expect(tier.rememberedFailure(key) == nil)
        #expect(tier.resume(key) == nil)
        #expect(FileManager.default.fileExists(atPath: directory("cache/notes.txt")))
        #expect(try DiskFixtures.store(tier, key, [1]).isStored)
    }

    @Test func longWorkCanBeEnded() throws {
        let tier = try filled(40)
        #expect(!tier.verify(repair: false, progress: { $0.done < 3 }).isComplete)
        #expect(try tier.trim(count: 0, progress: { $0.done < 10 }) < 40)
        let result = try tier.export(to: directory("out"), progress: { $0.done < 2 })
        #expect(!result.isComplete)
    }

    @Test func exportsPlainFilesWithAManifest() throws {
        let tier = try filled(3)
        // A name that is taken, one that tries to climb, and one that needs decoding.
        let odd = [
            "https://other.example/images/1.jpg?v=2", "https://other.example/a/..",
            "https://other.example/%E2%82%AC%2Fx.PNG",
        ]
        for url in odd { try DiskFixtures.store(tier, CacheKey(url: url), Array(url.utf8)) }
        try DiskFixtures.store(tier, DiskFixtures.key(0).variant("64"), [1])
        let result = try tier.export(to: directory("out"))
        #expect(result.isComplete)
        #expect(result.files == 6)
        let names = directory.files(under: "out")
        #expect(names.count == 7)
        #expect(names.contains("0.jpg") && names.contains("__x.jpg") && names.contains("image.jpg"))
        let manifest = try String(contentsOfFile: directory("out/manifest.jsonl"), encoding: .utf8)
        let lines = manifest.split(separator: "\n")
        #expect(lines.count == 6)
        for line in lines {
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let file = try Data(contentsOf: URL(fileURLWithPath: directory("out/\(object["file"] as? String ?? "")")))
            #expect(SHA256.digest(Array(file)).hex == object["sha256"] as? String)
            #expect(object["url"] is String)
        }
        // Nothing that is there is overwritten.
        #expect(throws: ImageError.self) { try tier.export(to: directory("out")) }
    }

    @Test(arguments: [
        ("https://e.x/photo.jpeg?x=/y", "photo"), ("https://e.x/", "image"), ("https://e.x/.hidden", "hidden"),
        ("https://e.x/-rf", "rf"), ("https://e.x/a%00b", "a_b"), ("https://e.x/archive.tar.gz", "archive.tar"),
        ("key of the caller's", "key of the caller_s"),
    ])
    func exportedNamesAreHarmless(_ url: String, _ stem: String) {
        let (name, suffix) = ExportName.parts(url: url, format: .jpeg)
        #expect(name == stem)
        #expect(suffix == ".jpg")
        #expect(
            ExportName.parts(url: "https://e.x/" + String(repeating: "é", count: 500), format: nil).stem.utf8.count
                <= 120)
    }
}
