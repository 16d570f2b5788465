import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderCommand

/// The main job from the command line to the report, in one process, against a server on loopback.
struct PrefetchCommandTests {
    private let origin: Origin
    private let kept = KeptConsole()
    private let directory = TemporaryDirectory()
    private var folder: String { directory.path }

    init() throws {
        origin = try Origin()
        let image = try Self.picture(width: 40, height: 30)
        origin.on("/a.png", .ok(image, [("Cache-Control", "max-age=1000")]))
        origin.on("/b.png", .ok(image, [("Cache-Control", "max-age=1000")]))
        origin.on("/text.jpg", .ok(Array("<html>".utf8), type: "image/jpeg"))
    }

    private func run(_ arguments: String...) async -> LarderCommand.ExitStatus {
        let common = ["--cache", folder + "/cache", "--retry", "0"]
        let workers = arguments[0] == "prefetch" ? ["--workers", "0"] : []
        return await Program.run(arguments + common + workers, kept.console())
    }

    private func manifest(_ lines: [String], _ name: String = "urls.txt") throws -> String {
        let path = folder + "/" + name
        try lines.joined(separator: "\n").write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    private static func picture(width: Int, height: Int) throws -> [UInt8] {
        try ImageEncoder.png(
            Bitmap(width: width, height: height, hasAlpha: false) { (pixels, _) throws(ImageError) in
                for place in pixels.indices { pixels[place] = place % 4 == 3 ? 255 : UInt8(place % 251) }
            })
    }

    private func url(_ path: String) -> String { origin.url(path).absoluteString }

    private func report(_ name: String) throws -> [[String: Any]] {
        try String(contentsOfFile: folder + "/" + name, encoding: .utf8).split(separator: "\n").map {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
        }
    }

    private func summary() throws -> [String: Any] {
        let line = kept.out.split(separator: "\n").last ?? ""
        return try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
    }

    @Test func fetchesOnceAndThenAnswersFromTheCache() async throws {
        let list = try manifest([url("/a.png"), url("/missing.png"), url("/b.png"), url("/a.png"), url("/text.jpg")])
        #expect(await run("prefetch", list, "-s", "16", "--json", "--report", folder + "/r.jsonl") == .someFailed)
        let lines = try report("r.jsonl")
        #expect(lines.count == 5)
        #expect(Set(lines.compactMap { $0["row"] as? Int }) == [1, 2, 3, 4, 5])
        let first = try #require(lines.first { $0["row"] as? Int == 1 })
        #expect(first["width"] as? Int == 40)
        let thumbnail = try #require((first["thumbnails"] as? [[String: Any]])?.first)
        #expect(thumbnail["size"] as? String == "16x16")
        #expect(thumbnail["width"] as? Int == 16)
        for file in [first["file"], thumbnail["file"]].compactMap({ $0 as? String }) {
            #expect(FileManager.default.fileExists(atPath: folder + "/cache/" + file))
        }
        #expect(try summary()["success"] as? Int == 3)
        #expect(try summary()["from_network"] as? Int == 2)
        let requests = origin.requests.count
        #expect(requests == 4)

        #expect(await run("prefetch", list, "-s", "16", "--json") == .someFailed)
        #expect(try summary()["from_disk"] as? Int == 3)
        #expect(try summary()["bytes"] as? Int == 0)
        #expect(!origin.requests[requests...].contains { $0.target.hasPrefix("/a") || $0.target.hasPrefix("/b") })
    }

    @Test func choosesTheExitStatus() async throws {
        #expect(await run("prefetch", try manifest([url("/a.png")]), "-q") == .success)
        #expect(await run("prefetch", try manifest([url("/missing.png")]), "-q") == .noneSucceeded)
        #expect(await run("prefetch", try manifest([url("/missing.png")]), "-q", "--exit-zero") == .success)
        #expect(await run("prefetch", try manifest([])) == .success)
        #expect(await run("prefetch", try manifest(["[1,"], "broken.json")) == .usage)
        #expect(await run("prefetch", folder + "/nothing.txt") == .usage)
        #expect(await run("prefetch", url("/missing.json")) == .usage)
        #expect(kept.err.contains("cannot be fetched: the list's server answered 404"))
    }

    @Test func takesFailedRowsAgain() async throws {
        let list = try manifest([url("/a.png"), url("/late.png")])
        #expect(await run("prefetch", list, "-q", "--report", folder + "/r.jsonl") == .someFailed)
        origin.on("/late.png", .ok(try Self.picture(width: 2, height: 2)))
        let again = ["--retry-failed", folder + "/r.jsonl", "--refresh", "--json"]
        #expect(
            await Program.run(
                ["prefetch", list, "--cache", folder + "/cache", "--workers", "0"] + again, kept.console()) == .success)
        #expect(try summary()["total"] as? Int == 1)
        #expect(await run("prefetch", "--retry-failed", folder + "/r.jsonl", "--report", folder + "/r.jsonl") == .usage)
    }

    @Test func keepsToTheHashWhenItTriesAgainWithoutTheManifest() async throws {
        let hash = String(repeating: "0", count: 64)
        let list = try manifest([#"{"url":"\#(url("/a.png"))","sha256":"\#(hash)"}"#], "l.jsonl")
        #expect(await run("prefetch", list, "-q", "--report", folder + "/r.jsonl") == .noneSucceeded)
        let again = folder + "/again.jsonl"
        #expect(
            await run("prefetch", "--retry-failed", folder + "/r.jsonl", "-q", "--report", again) == .noneSucceeded)
        for name in ["r.jsonl", "again.jsonl"] {
            let line = try #require(try report(name).first)
            #expect((line["error"] as? [String: Any])?["code"] as? String == "hash_mismatch")
            #expect((line["wanted"] as? [String: String]) == ["sha256": hash])
        }
    }

    /// What was remembered of a failure is no answer to who tries again.
    @Test func asksForFailedRowsInSpiteOfWhatIsRemembered() async throws {
        let list = try manifest([url("/a.png"), url("/late.png")])
        #expect(await run("prefetch", list, "-q", "--report", folder + "/r.jsonl") == .someFailed)
        origin.on("/late.png", .ok(try Self.picture(width: 2, height: 2)))
        #expect(await run("prefetch", "--retry-failed", folder + "/r.jsonl", "--json") == .success)
        #expect(try summary()["from_network"] as? Int == 1)
    }

    @Test func writesNoReportOverWhatItReads() async throws {
        let list = try manifest([url("/a.png")])
        try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: list)
        for report in [list, folder + "/link", folder + "/./urls.txt"] {
            #expect(await run("prefetch", list, "-q", "--report", report) == .usage)
            #expect(await run("prefetch", list, "-q", "--dry-run", "--report", report) == .usage)
        }
        #expect(try String(contentsOfFile: list, encoding: .utf8) == url("/a.png"))
        #expect(origin.requests.isEmpty)
    }

    @Test func keepsTheOldReportWhereTheManifestCannotBeRead() async throws {
        let old = #"{"row":1,"url":"x","phase":"failure"}"# + "\n"
        let path = folder + "/r.jsonl"
        try old.write(toFile: path, atomically: false, encoding: .utf8)
        for bad in [url("/missing.json"), try manifest(["[oops"], "broken.json"), folder + "/none.txt"] {
            #expect(await run("prefetch", bad, "-q", "--report", path) == .usage)
            #expect(try String(contentsOfFile: path, encoding: .utf8) == old)
        }
        #expect(await run("prefetch", try manifest([]), "-q", "--report", path) == .success)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "")
    }

    @Test func aDryRunLeavesNothing() async throws {
        let list = try manifest([url("/a.png")])
        let options = ["--export", folder + "/out", "--report", folder + "/r.jsonl", "--json"]
        for _ in 0..<2 {
            #expect(
                await Program.run(
                    ["prefetch", list, "--dry-run", "--cache", folder + "/new"] + options, kept.console()) == .success)
        }
        #expect(try summary()["to_fetch"] as? Int == 1)
        for name in ["new", "out", "r.jsonl"] { #expect(!FileManager.default.fileExists(atPath: folder + "/" + name)) }
        // What the cache has is exported by no look either.
        #expect(await run("prefetch", list, "-q") == .success)
        #expect(
            await Program.run(
                ["prefetch", list, "--dry-run", "--cache", folder + "/cache"] + options, kept.console()) == .success)
        #expect(try summary()["cached"] as? Int == 1)
        #expect(!FileManager.default.fileExists(atPath: folder + "/out"))
        #expect(
            await run("prefetch", list, "--dry-run", "--report", folder + "/none/r.jsonl") == .usage)
    }

    @Test func namesTheCommandThatTriesAgain() async throws {
        let list = try manifest([url("/a.png"), url("/missing.png")])
        let options = ["-s", "16", "-H", "Authorization: Bearer s3cret", "-H", "X-Ok: 1", "--per-host", "3"]
        #expect(
            await Program.run(
                ["prefetch", list, "--cache", folder + "/cache", "--retry", "0", "--workers", "0"] + options
                    + ["--report", folder + "/r.jsonl"], kept.console()) == .someFailed)
        #expect(!kept.err.contains("s3cret"))
        let hint = try #require(kept.err.split(separator: "\n").last { $0.contains("Try the rest again") })
        for part in [
            "prefetch \(list) --retry-failed \(folder)/r.jsonl", "--size 16", "--header 'Authorization: …'",
            "--header 'X-Ok: 1'", "--per-host 3", "--cache \(folder)/cache",
        ] { #expect(hint.contains(part), "\(part)") }
    }

    /// A list on the web and its images: the secret is for the list's own origin.
    @Test func takesCredentialsToNoOtherOriginThanTheLists() async throws {
        let other = try Origin()
        let image = try Self.picture(width: 8, height: 8)
        other.on("/c.png", .ok(image))
        let list = #"["\#(url("/a.png"))","\#(other.url("/c.png").absoluteString)"]"#
        origin.on("/list.json", .ok(Array(list.utf8), type: "application/json"))
        let fields = ["-H", "Authorization: Bearer s", "-H", "X-Open: 1"]
        #expect(
            await Program.run(
                ["prefetch", url("/list.json"), "-q", "--cache", folder + "/cache", "--workers", "0"] + fields,
                kept.console()) == .success)
        #expect(origin.requests.map { $0["authorization"] } == ["Bearer s", "Bearer s"])
        #expect(other.requests.map { $0["authorization"] } == [nil])
        #expect(other.requests.map { $0["x-open"] } == ["1"])
    }

    @Test func refusesAddressesThatAreNoManifest() async throws {
        #expect(await run("prefetch", "ftp://a/b.txt") == .usage)
        #expect(kept.err.contains("or an http or https URL"))
        origin.on("/l.txt", .ok(Array(url("/a.png").utf8), type: "text/plain"))
        let capitals = url("/l.txt").replacing("http://", with: "HTTP://")
        #expect(await run("prefetch", capitals, "-q") == .success)
    }

    @Test func limitsHoldForWhatIsInTheCache() async throws {
        let list = try manifest([url("/a.png")])
        #expect(await run("prefetch", list, "-q") == .success)
        for limit in [["--max-pixels", "1199"], ["--max-filesize", "10"]] {
            let status = await Program.run(
                ["prefetch", list, "--json", "--cache", folder + "/cache", "--workers", "0"] + limit, kept.console())
            #expect(status == .noneSucceeded)
            #expect(try (summary()["errors"] as? [String: Int]) == ["too_large": 1])
        }
        let file = folder + "/a.png"
        try Data(Self.picture(width: 40, height: 30)).write(to: URL(fileURLWithPath: file))
        #expect(await Program.run(["inspect", file, "--max-filesize", "10"], kept.console()) == .someFailed)
        #expect(await Program.run(["inspect", file, "--max-pixels", "1199"], kept.console()) == .someFailed)
    }

    @Test func staysOfflineWhenAsked() async throws {
        let list = try manifest([url("/a.png")])
        #expect(await run("prefetch", list, "--offline", "--json") == .noneSucceeded)
        #expect(try (summary()["errors"] as? [String: Int]) == ["not_cached": 1])
        #expect(origin.requests.isEmpty)
    }

    @Test func reportsHowOftenAFailedRowWasTried() async throws {
        origin.on("/down.png", .status(503))
        let list = try manifest([url("/down.png"), url("/missing.png"), "no url"])
        let arguments = ["--retry", "2", "--retry-delay", "0.01", "--workers", "0", "--report", folder + "/r.jsonl"]
        #expect(
            await Program.run(["prefetch", list, "-q", "--cache", folder + "/cache"] + arguments, kept.console())
                == .noneSucceeded)
        let attempts = try report("r.jsonl").sorted { ($0["row"] as? Int ?? 0) < ($1["row"] as? Int ?? 0) }.map {
            $0["attempts"] as? Int
        }
        #expect(attempts == [3, 1, 0])
    }

    @Test func surveysWithoutTheNetwork() async throws {
        let list = try manifest([url("/a.png"), url("/a.png"), "x"])
        #expect(await run("prefetch", list, "--dry-run", "--json") == .success)
        #expect(try summary()["to_fetch"] as? Int == 1)
        #expect(origin.requests.isEmpty)
    }

    @Test func exportsPlainFiles() async throws {
        let list = try manifest([#"{"id":"one","url":"\#(url("/a.png"))"}"#], "l.jsonl")
        #expect(await run("prefetch", list, "-q", "--export", folder + "/out") == .success)
        let bytes = try Data(contentsOf: URL(filePath: folder + "/out/one.png"))
        #expect(Array(bytes) == (try Self.picture(width: 40, height: 30)))
        #expect(await run("prefetch", list, "-q", "--export", folder + "/thumbs", "-s", "8", "-s", "x4") == .success)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder + "/thumbs").count == 2)
    }

    @Test func exportsAFileForEachRowOfAURL() async throws {
        let ids = ["first", "second", "third"]
        let list = try manifest(ids.map { #"{"id":"\#($0)","url":"\#(url("/a.png"))"}"# }, "l.jsonl")
        for (folder, options, requests) in [("cold", [], 1), ("warm", [], 1), ("anew", ["--refresh"], 2)] {
            let out = self.folder + "/" + folder
            let words = ["prefetch", list, "--json", "--export", out, "--cache", self.folder + "/cache"] + options
            #expect(await Program.run(words + ["--workers", "0"], kept.console()) == .success)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: out).sorted() == ids.map { $0 + ".png" },
                "\(folder)")
            #expect(origin.requests.count == requests, "\(folder)")
            #expect(try summary()["duplicates"] as? Int == 2)
        }
    }

    @Test func filtersByTheHeader() async throws {
        let list = try manifest([url("/a.png")])
        #expect(await run("prefetch", list, "--json", "--min-width", "41") == .success)
        #expect(try (summary()["errors"] as? [String: Int]) == ["filtered": 1])
    }

    @Test func getsOneImage() async throws {
        #expect(await run("get", url("/a.png"), "-o", folder + "/a.png") == .success)
        #expect(
            Array(try Data(contentsOf: URL(filePath: folder + "/a.png")))
                == (try Self.picture(width: 40, height: 30)))
        #expect(await run("get", url("/a.png"), "--json") == .success)
        #expect(kept.out.contains(#""source":"disk""#))
        #expect(await run("get", url("/missing.png")) == .noneSucceeded)
        #expect(kept.err.contains("There is no image at this address"))
    }

    @Test func inspectsFilesAndURLs() async throws {
        let file = folder + "/x.png"
        try Data(try Self.picture(width: 40, height: 30)).write(to: URL(filePath: file))
        #expect(await Program.run(["inspect", "--deep", "--json", file, url("/b.png")], kept.console()) == .success)
        #expect(kept.out.split(separator: "\n").count == 2)
        #expect(try summary()["width"] as? Int == 40)
        #expect(await Program.run(["inspect", "--json", url("/text.jpg")], kept.console()) == .someFailed)
        #expect(try summary()["valid"] as? Bool == false)
        #expect(await Program.run(["inspect", folder + "/none"], kept.console()) == .someFailed)
        #expect(kept.out.contains("cannot be read: No such file or directory"))
    }
}
