import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderCommand

/// `larder list`, `stats`, `verify`, `trim`, `clear` and `export` on a directory of their own.
struct UpkeepCommandTests {
    private let kept = KeptConsole()
    private let directory = TemporaryDirectory()
    private var cache: String { directory("cache") }

    private func run(_ arguments: String...) async -> LarderCommand.ExitStatus {
        await Program.run(arguments + ["--cache", cache], kept.console())
    }

    private func key(_ number: Int) -> CacheKey { CacheKey(url: "https://example.com/images/\(number).jpg") }

    private func payload(_ number: Int) -> [UInt8] { [UInt8](repeating: UInt8(number), count: 1000 * (number + 1)) }

    private func metadata(_ key: CacheKey, stale: Bool = false) -> EntryMetadata {
        let now = SystemTime().now
        return EntryMetadata(
            key: key, finalURL: key.url, requestTime: now, responseTime: now,
            freshness: StoredFreshness(freshUntil: now.adding(seconds: stale ? -10 : 1000)),
            header: ImageHeader(format: key.variant == nil ? .jpeg : .png, width: 640, height: 480))
    }

    private func store(_ tier: DiskTier, _ key: CacheKey, _ payload: [UInt8], stale: Bool = false) throws {
        let writer = try tier.begin(key)
        try payload.withUnsafeBytes { try writer.append($0) }
        #expect(try writer.commit(metadata(key, stale: stale)).isStored)
    }

    /// Four images, the last of them stale, and a thumbnail.
    private func fill() throws {
        let tier = try DiskTier(directory: cache)
        tier.reconcile()
        for number in 0..<4 { try store(tier, key(number), payload(number), stale: number == 3) }
        try store(tier, key(0).variant("64x64>"), [1, 2, 3])
        tier.close()
    }

    private func objects() throws -> [[String: Any]] {
        try kept.out.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
    }

    private func listed(_ arguments: String...) async throws -> [String] {
        let kept = KeptConsole()
        let status = await Program.run(["list", "--json", "--cache", cache] + arguments, kept.console())
        #expect(status == .success, "\(kept.err)")
        return try kept.out.split(separator: "\n").map {
            let object = try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
            return String((object?["url"] as? String ?? "").dropFirst("https://example.com/images/".count))
        }
    }

    @Test func listsSortsAndFilters() async throws {
        try fill()
        #expect(try await listed() == ["3.jpg", "2.jpg", "1.jpg", "0.jpg"])
        #expect(try await listed("--sort", "url", "-n", "2") == ["0.jpg", "1.jpg"])
        #expect(try await listed("--sort", "size") == ["3.jpg", "2.jpg", "1.jpg", "0.jpg"])
        #expect(try await listed("--sort", "size", "--reverse", "-n", "1") == ["0.jpg"])
        #expect(try await listed("--sort", "expires", "-n", "1") == ["3.jpg"])
        #expect(try await listed("--sort", "stored", "-n", "1") == ["3.jpg"])
        #expect(try await listed("--search", "/2.") == ["2.jpg"])
        #expect(try await listed("--state", "stale") == ["3.jpg"])
        #expect(try await listed("--state", "fresh").count == 3)
        #expect(try await listed("--all").count == 5)
        #expect(try await listed("--format", "png") == [])
        #expect(try await listed("--format", "png", "--all") == ["0.jpg"])
    }

    @Test func listsForPeopleAndForPrograms() async throws {
        try fill()
        #expect(await run("list", "--search", "/1.") == .success)
        #expect(kept.out.contains("1.95 KB      640 x 480  jpeg  20"))
        #expect(kept.out.hasSuffix("  https://example.com/images/1.jpg\n"))
        let json = KeptConsole()
        #expect(
            await Program.run(["list", "--json", "--search", "/1.", "--cache", cache], json.console()) == .success)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(json.out.utf8)) as? [String: Any])
        #expect(object["bytes"] as? Int == 2000)
        #expect(object["disk_bytes"] as? Int == 4096)
        #expect(object["file"] as? String == key(1).file)
        #expect(object["variant"] is NSNull)
        #expect(object["private"] as? Bool == false)
        #expect(object["width"] as? Int == 640)
    }

    /// A key of a caller's may hold anything; on a terminal it must not do anything.
    @Test func noURLMovesTheCursor() async throws {
        let tier = try DiskTier(directory: cache)
        try store(tier, CacheKey(url: "x\u{1B}[2J\u{202E}y"), [1])
        tier.close()
        #expect(await run("list") == .success)
        #expect(!kept.out.contains("\u{1B}") && !kept.out.contains("\u{202E}"))
        #expect(kept.out.contains("x\u{FFFD}[2J\u{FFFD}y"))
    }

    @Test func anIndexThatWasLostIsMadeAgain() async throws {
        try fill()
        for name in directory.files(under: "cache/state") where name.hasPrefix("index") {
            try FileManager.default.removeItem(atPath: directory("cache/state/\(name)"))
        }
        #expect(try await listed("--sort", "url", "--all").count == 5)
    }

    @Test func endsQuietlyWhereNobodyReads() async throws {
        try fill()
        var console = kept.console()
        console.out = { (_) throws(Console.OutputFailure) in throw Console.OutputFailure() }
        for command in ["list", "stats", "verify"] {
            #expect(await Program.run([command, "--cache", cache], console) == .success)
        }
        #expect(kept.err.isEmpty)
    }

    @Test func countsWhatIsThere() async throws {
        try fill()
        #expect(await run("stats", "--json") == .success)
        let object = try #require(try objects().first)
        #expect(object["entries"] as? Int == 5)
        // The last image has more than a block, its metadata included.
        #expect(object["bytes"] as? Int == 24576)
        #expect((object["thumbnails"] as? [String: Int])?["count"] == 1)
        #expect((object["stale"] as? [String: Int])?["count"] == 1)
        #expect(((object["formats"] as? [String: Any])?["jpeg"] as? [String: Int])?["count"] == 4)
        #expect(object["first_stored"] is String)
        let text = KeptConsole()
        #expect(await Program.run(["stats", "--cache", cache], text.console()) == .success)
        #expect(text.out.hasPrefix("entries"))
        #expect(text.out.contains("thumbnails                     1   4.00 KB"))
    }

    @Test func verifySaysWhatIsWrongAndRepairs() async throws {
        try fill()
        #expect(await run("verify") == .success)
        #expect(kept.out == "5 entries whole, 9.77 KB\n")
        let file = URL(filePath: directory("cache/\(key(2).file)"))
        var bytes = try Data(contentsOf: file)
        bytes[100] ^= 1
        try bytes.write(to: file)

        let found = KeptConsole()
        #expect(await Program.run(["verify", "--cache", cache], found.console()) == .someFailed)
        #expect(found.out.hasPrefix("\(key(2).file): checksum of the image\n4 entries whole"))
        #expect(found.out.hasSuffix("; 1 damaged\n"))
        let repaired = KeptConsole()
        #expect(
            await Program.run(["verify", "--repair", "--json", "--cache", cache], repaired.console()) == .success)
        let lines = repaired.out.split(separator: "\n")
        #expect(lines.first?.contains(#""repaired":true"#) == true)
        #expect(lines.last?.contains(#""damaged":1"#) == true)
        #expect(directory.files(under: "cache/quarantine").count == 1)
        #expect(await run("verify", "-q") == .success)
    }

    @Test func trimsToALimit() async throws {
        try fill()
        #expect(await run("trim") == .usage)
        #expect(kept.err.contains("trim wants a limit"))
        #expect(await run("trim", "--max-count", "2", "--json") == .success)
        let object = try #require(try objects().first)
        #expect(object["removed"] as? Int == 3)
        #expect(object["freed_bytes"] as? Int == 12288)
        #expect(object["entries"] as? Int == 2)
        // The last used stay: the last image and the thumbnail that was stored after it.
        #expect(try await listed("--all") == ["0.jpg", "3.jpg"])
        let text = KeptConsole()
        #expect(await Program.run(["trim", "--max-size", "0", "--cache", cache], text.console()) == .success)
        #expect(text.out == "2 entries removed, 12.0 KB; 0 entries left, 0 B\n")
    }

    @Test func clearsSomeURLsOrEverything() async throws {
        try fill()
        // Another way to write the URL, and one of which there is nothing.
        #expect(await run("clear", "HTTPS://EXAMPLE.com:443/images/0.jpg", "https://example.com/none") == .success)
        #expect(kept.out.hasPrefix("2 entries removed, "))
        #expect(kept.err == "larder: nothing was stored of https://example.com/none\n")
        #expect(try await listed("--all").count == 3)
        #expect(await run("clear", "-q") == .success)
        #expect(try await listed("--all") == [])
        #expect(directory.files(under: "cache").contains(".larder"))
    }

    @Test func exportsPlainFiles() async throws {
        try fill()
        #expect(await run("export", directory("out")) == .success)
        #expect(kept.out == "4 files written to \(directory("out")), 9.77 KB\n")
        #expect(directory.files(under: "out") == ["0.jpg", "1.jpg", "2.jpg", "3.jpg", "manifest.jsonl"])
        #expect(try Array(Data(contentsOf: URL(filePath: directory("out/2.jpg")))) == payload(2))
        // Nothing that is there is overwritten.
        #expect(await run("export", directory("out")) == .usage)
        #expect(await run("export", directory("two"), "--search", "/1.", "-q") == .success)
        #expect(directory.files(under: "two") == ["1.jpg", "manifest.jsonl"])
        #expect(await run("export") == .usage)
    }

    @Test(arguments: ["list", "stats", "verify", "clear"])
    func aDirectoryThatIsNoCacheStaysAsItIs(_ command: String) async throws {
        #expect(await run(command) == .usage)
        #expect(kept.err.contains("--cache DIR names another directory"))
        try FileManager.default.createDirectory(atPath: cache, withIntermediateDirectories: false)
        #expect(await run(command) == .usage)
        #expect(kept.err.contains("is not a cache directory"))
        #expect(directory.files().isEmpty)
    }

    /// Looking at a directory must not make it smaller: its limits are those of who stores in it.
    @Test func whatIsLookedAtIsNotTrimmed() async throws {
        try fill()
        let environment = ["LARDER_MAX_SIZE": "4K", "LARDER_MAX_AGE": "0"]
        for command in ["list", "stats", "verify"] {
            #expect(await Program.run([command, "--cache", cache], kept.console(environment)) == .success)
        }
        #expect(try await listed("--all").count == 5)
    }

    @Test func exportsNeitherIntoItselfNorOverAnExport() async throws {
        try fill()
        #expect(await run("export", cache) == .usage)
        #expect(kept.err.contains("is the cache directory itself"))
        #expect(!FileManager.default.fileExists(atPath: cache + "/manifest.jsonl"))
        #expect(await run("export", directory("out")) == .success)
        #expect(await run("export", directory("out")) == .usage)
        #expect(kept.err.contains("there is an export in \(directory("out")) already"))
    }

    @Test func jpgIsJPEG() async throws {
        try fill()
        #expect(await run("list", "--format", "jpg", "--json") == .success)
        #expect(try objects().count == 4)
    }
}
