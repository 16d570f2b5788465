import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderCommand

@Suite(.timeLimit(.minutes(1))) struct SignalWatchTests {
    /// What a watch has done.
    private final class Deeds: Sendable {
        private let words = Lock<[String]>([])
        var all: [String] { words.withLock { $0 } }
        func note(_ word: String) { words.withLock { $0.append(word) } }
    }

    private let deeds = Deeds()

    /// Watches no signal of this process: the test says what comes.
    private func watch() -> SignalWatch {
        SignalWatch(
            [], onSecond: { [deeds] in deeds.note("ends with \($0)") }, onFirst: { [deeds] in deeds.note("asks") })
    }

    @Test func nothingHappensWithoutASignal() {
        let watch = watch()
        #expect(watch.status == nil)
        #expect(deeds.all.isEmpty)
    }

    @Test(arguments: [(SIGINT, LarderCommand.ExitStatus.interrupted), (SIGTERM, .terminated)])
    func theFirstSignalAsksAndNamesTheStatus(number: Int32, status: LarderCommand.ExitStatus) {
        let watch = watch()
        watch.receive(number)
        #expect(deeds.all == ["asks"])
        #expect(watch.status == status)
    }

    @Test func theSecondSignalDoesNotWait() {
        let watch = watch()
        watch.receive(SIGINT)
        watch.receive(SIGTERM)
        #expect(deeds.all == ["asks", "ends with 143"])
        #expect(watch.status == .interrupted, "the first one says why")
    }

    /// The whole program: what was under way is reported as cancelled, what had not begun is not.
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)]) func aSignalCompletesTheReport(number: Int32, status: Int)
        async throws
    {
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("larder")
        try #require(FileManager.default.isExecutableFile(atPath: program.path))
        let origin = try Origin()
        origin.on("/held.png", OriginReply([.hold]))
        let directory = TemporaryDirectory()
        let list = (1...9).map { origin.url("/held.png").absoluteString + "?\($0)" }.joined(separator: "\n")
        try list.write(toFile: directory.path + "/urls.txt", atomically: false, encoding: .utf8)
        let process = Process()
        process.executableURL = program
        process.arguments = [
            "prefetch", directory.path + "/urls.txt", "--cache", directory.path + "/cache", "--workers", "0",
            "-j", "1", "--per-host", "1", "--report", directory.path + "/report.jsonl", "--json", "--max-time", "5",
            "--retry", "0",
        ]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        _ = await origin.requests(atLeast: 1)
        kill(process.processIdentifier, number)
        let summary = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationReason == .exit)
        #expect(process.terminationStatus == status)
        #expect(summary.contains(#""interrupted":true"#))
        let report = try String(contentsOfFile: directory.path + "/report.jsonl", encoding: .utf8)
            .split(separator: "\n")
        #expect((1..<9).contains(report.count), "some of the rows had not begun")
        #expect(report.allSatisfy { $0.contains(#""code":"cancelled""#) })
        #expect(summary.contains(#""total":\#(report.count),"#))
    }
}
