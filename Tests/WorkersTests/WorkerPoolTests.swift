import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderWorkers

@Suite(.timeLimit(.minutes(1))) struct WorkerPoolTests {
    static let executable = Bundle.main.executableURL!.deletingLastPathComponent()
        .appendingPathComponent("ScriptedWorker").path

    static func pool(workers: Int = 2, credits: Int = 4, arguments: [String] = []) -> WorkerPool {
        WorkerPool(
            .init(
                executable: executable, arguments: arguments,
                // Beside it what a sanitizer was told: for the worker's own.
                environment: ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
                    .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 },
                setup: Array(#"{"setup":true}"#.utf8), workers: workers, credits: credits,
                helloDeadline: arguments == ["--silent"] ? 0.1 : 10))
    }

    static func line(_ row: Int, _ word: String = "work") -> [UInt8] { Array(#"{"row":\#(row),"do":"\#(word)"}"#.utf8) }
    static func answer(_ row: Int, _ word: String = "done") -> WorkerPool.Reply {
        .line(Array(#"{"row":\#(row),"answer":"\#(word)"}"#.utf8))
    }

    @Test func everyRowIsAnsweredOnce() async throws {
        let meeting = TemporaryDirectory()
        let pool = Self.pool(credits: 4, arguments: ["--noisy", meeting.path])
        await withTaskGroup(of: Void.self) { group in
            for row in 1...200 {
                // More than one worker may have in hand, and answered once both have one.
                let word = row <= 5 ? "meet" : "work"
                group.addTask { #expect(await pool.run(Self.line(row, word)) == Self.answer(row)) }
            }
        }
        #expect(pool.processIDs.count == 2)
        #expect(try FileManager.default.contentsOfDirectory(atPath: meeting.path).count == 2)
        await pool.stop()
        #expect(pool.processIDs.isEmpty)
    }

    @Test(arguments: ["trap", "exit"]) func aRowThatEndsItsWorkerCostsNoOther(word: String) async {
        let pool = Self.pool()
        await withTaskGroup(of: Void.self) { group in
            for row in 1...60 {
                group.addTask {
                    let guilty = row % 20 == 0
                    let reply = await pool.run(Self.line(row, guilty ? word : "work"))
                    switch reply {
                    case .crashed(let signal):
                        #expect(guilty)
                        #expect(word == "exit" ? signal == nil : signal == SIGILL)
                    default: #expect(reply == Self.answer(row))
                    }
                }
            }
        }
        #expect(pool.deaths >= 6, "each guilty row needs two deaths alone")
        await pool.stop()
    }

    @Test func aRowIsNotGuiltyOfOneDeath() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let pool = Self.pool(arguments: [directory])
        #expect(await pool.run(Self.line(1, "trap-once")) == Self.answer(1))
        #expect(pool.deaths == 1)
        await pool.stop()
    }

    @Test func aKilledWorkerIsForgivenFourTimes() async {
        let pool = Self.pool(workers: 1)
        #expect(await pool.run(Self.line(1, "kill")) == .crashed(signal: SIGKILL))
        #expect(pool.deaths == 5)
        await pool.stop()
    }

    @Test func aCancelledRowIsGivenUpByItsWorker() async {
        let pool = Self.pool(workers: 1)
        let waiting = Task { await pool.run(Self.line(1, "wait")) }
        #expect(await pool.run(Self.line(2)) == Self.answer(2))
        waiting.cancel()
        #expect(await waiting.value == Self.answer(1, "cancelled"))
        await pool.stop()
    }

    @Test func stoppingEndsWhatRunsAndDropsWhatWaits() async {
        let pool = Self.pool(workers: 1, credits: 2)
        let rows = (1...4).map { row in Task { await pool.run(Self.line(row, "wait")) } }
        while pool.processIDs.isEmpty, !Task.isCancelled { await Task.yield() }
        await pool.stop()
        for (index, row) in rows.enumerated() {
            let reply = await row.value
            #expect(reply == .cancelled || reply == Self.answer(index + 1, "cancelled"))
        }
        #expect(await pool.run(Self.line(9)) == .cancelled)
    }

    @Test(arguments: ["--mute", "--foreign", "--silent"]) func whatIsNoWorkerMakesRowsUnavailable(argument: String)
        async
    {
        let pool = Self.pool(workers: 1, arguments: [argument])
        guard case .unavailable(let reason) = await pool.run(Self.line(1)) else {
            Issue.record("expected .unavailable")
            return
        }
        #expect(reason.contains("hello"))
        await pool.stop()
    }

    @Test func aMissingProgramMakesRowsUnavailable() async {
        let pool = WorkerPool(
            .init(
                executable: "/nonexistent/larder", arguments: [], environment: [:], setup: [], workers: 1, credits: 1))
        guard case .unavailable(let reason) = await pool.run(Self.line(1)) else {
            Issue.record("expected .unavailable")
            return
        }
        #expect(reason.contains("/nonexistent/larder"))
        await pool.stop()
    }

    @Test func aReleasedPoolLeavesNoProcess() async throws {
        var pool: WorkerPool? = Self.pool(workers: 1)
        guard case .line(let line) = await pool!.run(Self.line(1, "pid")) else {
            Issue.record("expected an answer")
            return
        }
        let pid = try #require(Int32(String(decoding: line, as: UTF8.self).split(separator: "\"")[5]))
        #expect(kill(pid, 0) == 0)
        pool = nil
        while kill(pid, 0) == 0, !Task.isCancelled { await Task.yield() }
    }
}
