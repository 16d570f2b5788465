import Foundation
import TestSupport
import Testing

@testable import LarderCommand

@Suite(.timeLimit(.minutes(1))) struct StandardStreamsTests {
    /// A worker copies standard error; with all closed, the cache's files had their numbers.
    @Test(arguments: ["2>&-", "<&- >&- 2>&-"]) func workersNeedNoStreams(redirections: String) async throws {
        let folder = TemporaryDirectory()
        let origin = try Origin()
        origin.on("/a.png", .ok(try ImageFixtures.png(width: 4, height: 3)))
        try origin.url("/a.png").absoluteString.write(
            toFile: folder("urls.txt"), atomically: false, encoding: .utf8)
        let process = try ProgramProcess(
            [
                "prefetch", folder("urls.txt"), "--cache", folder("cache"), "--workers", "1", "--report",
                folder("report.jsonl"), "--retry", "0",
            ], redirections: redirections)
        #expect(await process.ended() == 0)
        let report = try String(contentsOfFile: folder("report.jsonl"), encoding: .utf8)
        #expect(report.contains(#""phase":"success""#), "\(report)")
    }

    /// What is asked for and cannot be written is no success.
    @Test func aClosedStreamIsAnError() async throws {
        let folder = TemporaryDirectory()
        try "".write(toFile: folder("urls.txt"), atomically: false, encoding: .utf8)
        try "http://127.0.0.1:1/a.png".write(toFile: folder("urls.txt"), atomically: false, encoding: .utf8)
        let process = try ProgramProcess(
            [
                "prefetch", folder("urls.txt"), "--cache", folder("cache"), "--offline", "--workers", "0", "--report",
                "-",
            ],
            redirections: ">&-")
        #expect(await process.ended() == 2)
    }
}
