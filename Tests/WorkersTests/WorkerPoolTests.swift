import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderWorkers

@Suite(.timeLimit(.minutes(1))) struct WorkerPoolTests {
    static let executable = Bundle.main.executableURL!.deletingLastPathComponent()
        .appendingPathComponent("ScriptedWorker").path

    static func pool(
        workers: Int = 2, credits: Int = 4, silence: Double = 3600, arguments: [String] = []
    ) -> WorkerPool {
        WorkerPool(
            .init(
                executable: executable, arguments: arguments,
                // Beside it what a sanitizer was told: for the worker's own.
                environment: ProcessInfo.processInfo.environment.filter { $0.key.hasSuffix("SAN_OPTIONS") }
                    .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 },
                setup: Array(#"{"setup":true}"#.utf8), workers: workers, credits: credits,
                silence: silence, helloDeadline: arguments == ["--silent"] ? 0.1 : 10))
    }

    /// Runs a row that says what its worker has to do.
    static func run(_ pool: WorkerPool, _ word: String = "work") async -> WorkerPool.Reply {
        await pool.run { Array(#"{"row":\#($0),"do":"\#(word)"}"#.utf8) }
    }

    /// The word that a worker answered; nil where none did.
    static func word(_ reply: WorkerPool.Reply) -> String? {
        guard case .line(let line) = reply else { return nil }
        let parts = String(decoding: line, as: UTF8.self).split(separator: "\"")
        return parts.count == 7 ? String(parts[5]) : nil
    }

    @Test func everyRowIsAnsweredOnce() async throws {
        let meeting = TemporaryDirectory()
        let pool = Self.pool(credits: 4, arguments: ["--noisy", meeting.path])
        await withTaskGroup(of: Void.self) { group in
            for row in 1...200 {
                // More than one worker may have in hand, and answered once both have one.
                let word = row <= 5 ? "meet" : "work"
                group.addTask { #expect(Self.word(await Self.run(pool, word)) == "done") }
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
                    let reply = await Self.run(pool, guilty ? word : "work")
                    switch reply {
                    case .crashed(let death, let workers):
                        #expect(guilty)
                        #expect(death == (word == "exit" ? .exit : .signal(SIGILL)))
                        #expect(workers >= 2)
                    default: #expect(Self.word(reply) == "done")
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
        #expect(Self.word(await Self.run(pool, "trap-once")) == "done")
        #expect(pool.deaths == 1)
        await pool.stop()
    }

    /// A coordinator under `nohup` lives on when its terminal goes, and its workers with it.
    @Test(arguments: [SIGHUP, SIGINT, SIGTERM]) func signalsOfTheTerminalAreForTheCoordinator(number: Int32) async {
        let pool = Self.pool(workers: 1)
        let first = Self.word(await Self.run(pool, "pid"))
        for process in pool.processIDs { kill(process, number) }
        let second = Self.word(await Self.run(pool, "pid"))
        #expect(first != nil && first == second, "the same process answers")
        #expect(pool.deaths == 0)
        await pool.stop()
    }

    @Test func aKilledWorkerIsForgivenFourTimes() async {
        let pool = Self.pool(workers: 1)
        #expect(await Self.run(pool, "kill") == .crashed(.signal(SIGKILL), workers: 5))
        #expect(pool.deaths == 5)
        await pool.stop()
    }

    @Test func aCancelledRowIsGivenUpByItsWorker() async {
        let pool = Self.pool(workers: 1)
        let waiting = Task { await Self.run(pool, "wait") }
        #expect(Self.word(await Self.run(pool)) == "done")
        waiting.cancel()
        #expect(Self.word(await waiting.value) == "cancelled")
        await pool.stop()
    }

    @Test func aRowThatIsCancelledBeforeItBeginsIsGivenUp() async {
        let pool = Self.pool(workers: 1)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return await Self.run(pool, "wait")
        }
        task.cancel()
        let reply = await task.value
        #expect(reply == .cancelled || Self.word(reply) == "cancelled")
        await pool.stop()
    }

    /// A worker that is stopped, or stuck in a lock or a file system, holds no row for ever.
    @Test func aWorkerThatFallsSilentIsEnded() async {
        let pool = Self.pool(workers: 1, silence: 0.5)
        async let silent = Self.run(pool, "stop")
        async let other = Self.run(pool)
        #expect(Self.word(await other) == "done")
        guard case .crashed(.silence, let workers) = await silent else {
            Issue.record("expected a death by silence")
            return
        }
        #expect(workers == 2 || workers == 3, "once beside the other row, twice alone")
        #expect(Self.word(await Self.run(pool)) == "done")
        await pool.stop()
        #expect(pool.processIDs.isEmpty)
    }

    @Test func stoppingEndsWhatRunsAndDropsWhatWaits() async {
        let pool = Self.pool(workers: 1, credits: 2)
        let rows = (1...4).map { _ in Task { await Self.run(pool, "wait") } }
        while pool.processIDs.isEmpty, !Task.isCancelled { await Task.yield() }
        await pool.stop()
        for row in rows {
            let reply = await row.value
            #expect(reply == .cancelled || Self.word(reply) == "cancelled")
        }
        #expect(await Self.run(pool) == .cancelled)
    }

    @Test(arguments: ["--mute", "--foreign", "--silent"]) func whatIsNoWorkerMakesRowsUnavailable(argument: String)
        async
    {
        let pool = Self.pool(workers: 1, arguments: [argument])
        guard case .unavailable(let reason) = await Self.run(pool) else {
            Issue.record("expected .unavailable")
            return
        }
        #expect(reason.contains("hello"))
        await pool.stop()
    }

    @Test func aMissingProgramMakesRowsUnavailable() async {
        let pool = WorkerPool(
            .init(
                executable: "/nonexistent/larder", arguments: [], environment: [:], setup: [], workers: 1, credits: 1,
                silence: 3600))
        guard case .unavailable(let reason) = await Self.run(pool) else {
            Issue.record("expected .unavailable")
            return
        }
        #expect(reason.contains("/nonexistent/larder"))
        await pool.stop()
    }

    @Test func aReleasedPoolLeavesNoProcess() async throws {
        var pool: WorkerPool? = Self.pool(workers: 1)
        let pid = try #require(Int32(Self.word(await Self.run(pool!, "pid")) ?? ""))
        #expect(kill(pid, 0) == 0)
        pool = nil
        while kill(pid, 0) == 0, !Task.isCancelled { await Task.yield() }
    }
}
