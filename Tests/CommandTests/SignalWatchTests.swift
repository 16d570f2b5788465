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
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
    func aSignalCompletesTheReport(number: Int32, status: Int32) async throws {
        try await completesTheReport(after: [number], status)
    }

    /// As a script's jobs in the background are told to be deaf to Ctrl-C.
    @Test func aSignalThatWasIgnoredFromTheStartStaysIgnored() async throws {
        try await completesTheReport(after: [SIGINT, SIGTERM], 143, prelude: "trap '' INT")
    }

    private func completesTheReport(after signals: [Int32], _ status: Int32, prelude: String = "") async throws {
        let origin = try Origin()
        origin.on("/held.png", OriginReply([.hold]))
        let folder = TemporaryDirectory()
        let list = (1...9).map { origin.url("/held.png").absoluteString + "?\($0)" }.joined(separator: "\n")
        try list.write(toFile: folder("urls.txt"), atomically: false, encoding: .utf8)
        let process = try ProgramProcess(
            [
                "prefetch", folder("urls.txt"), "--cache", folder("cache"), "--workers", "0", "-j", "1", "--per-host",
                "1", "--report", folder("report.jsonl"), "--json", "--max-time", "5", "--retry", "0",
            ], prelude: prelude, redirections: ">\(folder("summary"))")
        _ = await origin.requests(atLeast: 1)
        for number in signals { process.signal(number) }
        #expect(await process.ended() == status)
        let summary = try String(contentsOfFile: folder("summary"), encoding: .utf8)
        #expect(summary.contains(#""interrupted":true"#))
        let report = try String(contentsOfFile: folder("report.jsonl"), encoding: .utf8).split(separator: "\n")
        #expect((1..<9).contains(report.count), "some of the rows had not begun")
        #expect(report.allSatisfy { $0.contains(#""code":"cancelled""#) })
        #expect(summary.contains(#""total":\#(report.count),"#))
    }
}
