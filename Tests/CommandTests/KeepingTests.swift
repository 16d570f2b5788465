import Foundation
import Testing

@testable import LarderCommand

/// `prefetch` and `get` promise that images are in the cache afterwards: where they are not, they say so.
struct KeepingTests {
    private let fixture: PrefetchFixture

    init() throws { fixture = try PrefetchFixture() }

    private var files: Int {
        let found = FileManager.default.subpaths(atPath: fixture.cache) ?? []
        return found.count { $0.count == 33 && $0.dropFirst(2).first == "/" }
    }

    /// A cache directory that can be opened and in which no entry can be put.
    private func block(_ names: [String]) throws {
        try FileManager.default.createDirectory(atPath: fixture.cache, withIntermediateDirectories: true)
        _ = try fixture.write("larder cache directory, layout 1\n", "cache/.larder")
        for name in names { _ = try fixture.write("", "cache/" + name) }
    }

    private func blockFolders() throws { try block((0..<256).map { String(format: "%02x", $0) }) }

    @Test func countsWhatHadToLeaveTheCacheAgain() async throws {
        let list = try fixture.manifest(try (0..<12).map { try fixture.serve("/\($0).png") })
        #expect(await fixture.run("prefetch", list, "--max-size", "20K", "--json") == .someFailed)
        #expect(try fixture.summary()["success"] as? Int == 12)
        #expect(files < 12)
        #expect(try fixture.summary()["evicted"] as? Int == 12 - files)

        #expect(await fixture.run("prefetch", list, "--max-size", "20K") == .someFailed)
        #expect(fixture.kept.err.contains("--max-size makes it larger"))
        #expect(await fixture.run("prefetch", list, "--json") == .success)
        #expect(try fixture.summary()["evicted"] == nil)
        // What is exported is not wanted in the cache.
        #expect(
            await fixture.run("prefetch", list, "--max-size", "20K", "-q", "--export", fixture.path("out"))
                == .success)
    }

    @Test func reportsWhatTheCacheCouldNotTake() async throws {
        try blockFolders()
        let list = try fixture.manifest([
            try fixture.serve("/a.png"), try fixture.serve("/b.png", cacheControl: "no-store"),
        ])
        let report = fixture.path("r.jsonl")
        #expect(await fixture.run("prefetch", list, "-q", "--ordered", "--report", report) == .someFailed)
        let lines = try fixture.report("r.jsonl")
        let error = lines.first?["error"] as? [String: Any]
        #expect(error?["code"] as? String == "cache_unavailable")
        #expect(error?["retryable"] as? Bool == true)
        // Its server forbids to keep it.
        #expect(lines.last?["phase"] as? String == "success")
        #expect(lines.last?["file"] == nil)
        #expect(await fixture.run("prefetch", list, "-q", "--export", fixture.path("out")) == .success)

        #expect(await fixture.run("get", fixture.url("/a.png")) == .noneSucceeded)
        #expect(fixture.kept.err.contains("cache_unavailable"))
        #expect(await fixture.run("get", fixture.url("/b.png")) == .success)
        #expect(await fixture.run("get", fixture.url("/a.png"), "-o", fixture.path("a.png")) == .success)
    }

    @Test func refusesADirectoryThatCannotBeWritten() async throws {
        try block(["tmp"])
        let list = try fixture.manifest([try fixture.serve("/a.png")])
        #expect(await fixture.run("prefetch", list) == .usage)
        #expect(fixture.kept.err.contains("cannot be written"))
        #expect(await fixture.run("get", fixture.url("/a.png")) == .usage)
        #expect(fixture.origin.requests.isEmpty)
        #expect(await fixture.run("get", fixture.url("/a.png"), "-o", fixture.path("a.png")) == .success)
        #expect(await fixture.run("prefetch", list, "--offline", "-q") == .noneSucceeded)
    }
}
