import Foundation
import Larder
import LarderWorkers
import TestSupport
import Testing

@testable import LarderPrefetch

struct PrefetchJobTests {
    private let runner = ScriptedRunner()
    private let report = ReportLines()

    private func job(
        _ manifest: String, _ change: (inout PrefetchJob.Configuration) -> Void = { _ in }, chunk: Int = 1 << 16
    ) -> PrefetchJob {
        var configuration = PrefetchJob.Configuration()
        change(&configuration)
        return PrefetchJob(
            ManifestReader(MemorySource(manifest, chunk: chunk)), runner: runner, report: report.writer,
            configuration: configuration)
    }

    private func list(_ urls: [String]) -> String { urls.joined(separator: "\n") }

    /// rows = success + failure, each row exactly once, and the summary counts what the lines say.
    private func expectItAddsUp(_ tally: Tally, rows: Int) throws {
        let objects = try report.objects
        #expect(tally.success + tally.failure == tally.total)
        #expect(objects.compactMap { $0["row"] as? Int }.sorted() == Array(1...rows))
        #expect(objects.count { $0["phase"] as? String == "success" } == tally.success)
        #expect(objects.count { $0["phase"] as? String == "failure" } == tally.failure)
        for (source, count) in [
            ("network", tally.fromNetwork), ("disk", tally.fromDisk), ("revalidated", tally.revalidated),
        ] { #expect(objects.count { $0["source"] as? String == source } == count) }
        #expect(objects.count { $0["duplicate_of"] != nil } == tally.duplicates)
        #expect(tally.errors.values.reduce(0, +) == tally.failure)
    }

    @Test func reportsEachRowOnce() async throws {
        let kinds = ["ok", "cached", "fail", "timeout"]
        let urls = (0..<2000).map { "http://h\($0 % 13)/\(kinds[$0 % 4])/\($0)" }
        let outcome = await job(list(urls), { $0.batch = 7 }).run()
        try expectItAddsUp(outcome.tally, rows: 2000)
        #expect(outcome.stop == nil)
        #expect(outcome.tally.success == 1000)
        #expect(outcome.tally.fromDisk == 500)
        #expect(outcome.tally.bytes == 500 * 100)
        #expect(outcome.tally.errors["http_status"] == 500)
    }

    @Test func writesLinesAsTheyAreDocumented() async throws {
        let manifest = """
            {"id":"a7","url":"http://h/ok/1","price":[1, 2]}
            {"url":"http://h/fail/2"}
            {"url":"http://h/cached/3"}
            {"id":"x"}
            """
        _ = await job(manifest, { $0.isOrdered = true }).run()
        #expect(
            report.lines == [
                #"{"row":1,"id":"a7","url":"http://h/ok/1","phase":"success","source":"network","status":200,"format":"jpeg","width":4,"height":3,"orientation":6,"bytes":100,"sha256":"ab","file":"ab/cd","attempts":1,"ms":7,"input":{"price":[1,2]}}"#,
                #"{"row":2,"url":"http://h/fail/2","phase":"failure","error":{"code":"http_status","message":"There is no image at this address (status 404). Check the address.","detail":"no","retryable":false},"status":404,"attempts":1,"ms":2}"#,
                #"{"row":3,"url":"http://h/cached/3","phase":"success","source":"disk","status":200,"format":"jpeg","width":4,"height":3,"orientation":6,"bytes":100,"sha256":"ab","file":"ab/cd","attempts":1,"ms":7}"#,
                #"{"row":4,"id":"x","url":"","phase":"failure","error":{"code":"bad_row","message":"The manifest's record is not usable: it has no url.","retryable":false},"attempts":0,"ms":0}"#,
            ])
    }

    @Test func countsTheSameWithoutAReport() async {
        let urls = (0..<100).map { "http://h/\(["ok", "cached", "fail"][$0 % 3])/\($0)" }
        let outcome = await PrefetchJob(ManifestReader(MemorySource(list(urls))), runner: runner).run()
        #expect(outcome.tally.total == 100)
        #expect(outcome.tally.failure == 33)
    }

    @Test func fetchesARepeatedURLOnceWhateverItsEnd() async throws {
        let urls = (0..<600).map { index in
            ["http://a/ok/1", "http://a/fail/1", "http://b/cached/1"][index % 3]
        }
        for size in [1, 100, 1000] {
            let runner = ScriptedRunner()
            let report = ReportLines()
            var configuration = PrefetchJob.Configuration()
            configuration.batch = size
            let job = PrefetchJob(
                ManifestReader(MemorySource(list(urls))), runner: runner, report: report.writer,
                configuration: configuration)
            let outcome = await job.run()
            #expect(runner.runs.sorted() == ["http://a/fail/1", "http://a/ok/1"])
            #expect(outcome.tally.total == 600)
            #expect(outcome.tally.duplicates == 597)
            #expect(outcome.tally.fromNetwork == 1)
            #expect(outcome.tally.failure == 200)
            let objects = try report.objects
            for object in objects {
                let row = try #require(object["row"] as? Int)
                #expect(object["duplicate_of"] as? Int == (row <= 3 ? nil : (row - 1) % 3 + 1))
                if row > 3, object["phase"] as? String == "success" { #expect(object["source"] as? String == "disk") }
            }
        }
    }

    /// Whether the first row is still under way, or its result stands in the log.
    @Test(arguments: [1, 256]) func handsEachRowOfAnImageToAnExport(batch: Int) async throws {
        let runner = ScriptedRunner(exportsRows: true)
        var configuration = PrefetchJob.Configuration()
        configuration.batch = batch
        configuration.isOrdered = true
        let urls = (0..<40).map { "http://a/\($0 % 2 == 0 ? "ok" : "fail")/1" }
        let job = PrefetchJob(
            ManifestReader(MemorySource(list(urls))), runner: runner, report: report.writer,
            configuration: configuration)
        try expectItAddsUp(await job.run().tally, rows: 40)
        #expect(runner.runs.sorted() == ["http://a/fail/1", "http://a/ok/1"])
        #expect(runner.state.withLock { $0.storedLookUps } == Array(repeating: "http://a/ok/1", count: 19))
        #expect(try report.objects.count { $0["duplicate_of"] != nil } == 38)
    }

    /// Reports that were put together have numbers twice, of the same images and of others.
    @Test(arguments: [1, 256]) func reportsRowsThatShareANumberOnceEach(batch: Int) async throws {
        let urls = ["http://a/hang/1", "http://a/hang/1", "http://b/hang/2", "http://b/hang/2", "http://b/hang/2"]
        let lines = urls.map { #"{"row":1,"url":"\#($0)","phase":"failure","error":{"code":"timed_out"}}"# }
        var configuration = PrefetchJob.Configuration()
        configuration.batch = batch
        let job = PrefetchJob(
            FailedRows(MemorySource(list(lines))), runner: runner, report: report.writer, configuration: configuration)
        let running = Task { await job.run() }
        await runner.begun(2)
        runner.release()
        #expect(await running.value.tally.total == 5)
        #expect(runner.runs.sorted() == ["http://a/hang/1", "http://b/hang/2"])
        #expect(try report.objects.compactMap { $0["url"] as? String }.sorted() == urls.sorted())
    }

    @Test func keepsTheManifestsOrderWhenAsked() async throws {
        let kinds = ["ok", "cached", "fail", "ok"]
        let urls = (0..<500).map { "http://h\($0 % 7)/\(kinds[$0 % 4])/\($0 % 200)" }
        let outcome = await job(
            list(urls),
            {
                $0.isOrdered = true
                $0.batch = 9
                $0.window = 50
            }
        ).run()
        try expectItAddsUp(outcome.tally, rows: 500)
        #expect(try report.objects.compactMap { $0["row"] as? Int } == Array(1...500))
    }

    @Test func readsNoFurtherAheadThanItsWindow() async throws {
        let urls = (0..<1000).map { "http://h/hang/\($0)" }
        let job = job(
            list(urls),
            {
                $0.window = 40
                $0.batch = 10
                $0.perHost = 100
                $0.parallel = 3
            })
        let running = Task { await job.run() }
        await runner.begun(3)
        runner.release()
        let outcome = await running.value
        try expectItAddsUp(outcome.tally, rows: 1000)
        #expect(runner.state.withLock { $0.mostUnderWay["all"] } ?? 0 <= 3)
    }

    @Test func holdsTheLimitOfEachHost() async throws {
        let urls = (0..<300).map { "http://h\($0 % 3)/ok/\($0)" }
        _ = await job(
            list(urls),
            {
                $0.parallel = 16
                $0.perHost = 4
            }
        ).run()
        let most = runner.state.withLock { $0.mostUnderWay }
        for host in ["h0", "h1", "h2"] { #expect(most[host] ?? 99 <= 4) }
        #expect(most["all"] ?? 99 <= 16)
    }

    @Test func letsNoHangingHostBlockTheOthers() async throws {
        // 20 hosts of 40 never answer: the rows of the others must all come through meanwhile.
        let urls = (0..<4000).map { "http://h\($0 % 40)/\($0 % 40 < 20 ? "hang" : "ok")/\($0)" }
        let time = ManualTime()
        var configuration = PrefetchJob.Configuration()
        configuration.parallel = 16
        configuration.most = 64
        let job = PrefetchJob(
            ManifestReader(MemorySource(list(urls))), runner: runner, report: report.writer,
            configuration: configuration, time: time)
        let running = Task { await job.run() }
        // Each second, rows that take long leave their place.
        while job.tally.success < 2000, !Task.isCancelled {
            await time.sleepers(1)
            time.advance(seconds: 1)
            await Task.yield()
        }
        #expect(runner.state.withLock { $0.mostUnderWay["all"] } ?? 99 <= 64)
        runner.release()
        let outcome = await running.value
        try expectItAddsUp(outcome.tally, rows: 4000)
    }

    @Test func givesUpAHostThatOnlyTimesOut() async throws {
        let urls = (0..<500).map { "http://dead/timeout/\($0)" } + (0..<50).map { "http://alive/ok/\($0)" }
        let outcome = await job(list(urls)).run()
        try expectItAddsUp(outcome.tally, rows: 550)
        #expect(outcome.tally.errors == ["timed_out": 500])
        #expect(runner.runs.count { $0.contains("dead") } == Schedule.probes)
        #expect(report.text.contains("not tried: dead let 3 requests time out and answered none"))
    }

    // MARK: Stopping

    @Test func reportsRowsUnderWayAsCancelledAndNoOthers() async throws {
        let urls = (0..<30).map { "http://h\($0)/\($0 < 5 ? "ok" : "hang")/\($0)" }
        let job = job(list(urls), { $0.parallel = 8 })
        let running = Task { await job.run() }
        await runner.begun(13)
        job.stop()
        let outcome = await running.value
        #expect(outcome.stop == .interrupted)
        #expect(outcome.tally.success == 5)
        #expect(outcome.tally.errors == ["cancelled": 8])
        #expect(report.lines.count == 13)
    }

    /// Of the rows whose turn has come, those that have not begun when the job is stopped never do.
    @Test func beginsNoRowAfterTheStop() async throws {
        let job = job(list((0..<8).map { "http://h\($0)/hang/\($0)" }), { $0.parallel = 8 })
        runner.beforeStart.withLock { $0 = { job.stop() } }
        let outcome = await job.run()
        #expect(outcome.stop == .interrupted)
        #expect(outcome.tally.errors == ["cancelled": 1])
        #expect(report.lines.count == 1)
        #expect(runner.runs.count <= 1)
    }

    @Test func waitsNoLongerThanAMomentForRowsThatDoNotHear() async throws {
        let time = ManualTime()
        let job = PrefetchJob(
            ManifestReader(MemorySource(list(["http://h/deaf/1", "http://h/deaf/2"]))), runner: runner,
            report: report.writer, time: time)
        let running = Task { await job.run() }
        await runner.begun(2)
        job.stop()
        await time.sleepers(2)
        time.advance(seconds: 0.5)
        let outcome = await running.value
        #expect(outcome.tally.errors == ["cancelled": 2])
        // What answers later changes nothing.
        runner.release()
        #expect(report.lines.count == 2)
    }

    @Test func stopsWhileItWaitsForTheManifest() async throws {
        let fifo = FileManager.default.temporaryDirectory.appending(path: "larder-\(UUID())").path
        try #require(mkfifo(fifo, 0o600) == 0)
        defer { unlink(fifo) }
        let writer = open(fifo, O_RDWR)
        defer { close(writer) }
        let job = PrefetchJob(try ManifestReader(path: fifo), runner: runner, report: report.writer)
        let running = Task { await job.run() }
        _ = write(writer, "http://h/ok/1\n", 14)
        await runner.begun(1)
        job.stop()
        #expect(await running.value.stop == .interrupted)
    }

    /// A host that sends heads is there, however slow its bodies are.
    @Test func givesNoHostUpThatAnswers() async throws {
        let outcome = await job(list((0..<20).map { "http://h/cut/\($0)" })).run()
        try expectItAddsUp(outcome.tally, rows: 20)
        #expect(report.lines.allSatisfy { $0.contains(#""status":200"#) && !$0.contains("not tried") })
        let silent = await job(list((0..<20).map { "http://s/timeout/\($0)" })).run()
        #expect(silent.tally.failure == 20)
        #expect(report.lines.suffix(20).contains { $0.contains("not tried") })
    }

    @Test func stopsAtTheFirstFailureWhenAsked() async throws {
        let urls = ["http://a/ok/1", "http://b/fail/2"] + (0..<100).map { "http://h\($0)/hang/\($0)" }
        let outcome = await job(
            list(urls),
            {
                $0.failsEarly = true
                $0.parallel = 4
            }
        ).run()
        #expect(outcome.stop == .failedEarly)
        #expect(outcome.tally.errors["http_status"] == 1)
        #expect(outcome.tally.total < 10)
    }

    @Test func reportsWhatWasDoneWhereTheManifestFailsMidway() async throws {
        let outcome = await job(#"["http://h/ok/1","http://h/ok/2" oops"#, { $0.batch = 1 }).run()
        guard case .manifest(.malformed(_, let place)) = outcome.stop else { return #expect(Bool(false)) }
        #expect(place == "byte 34")
        #expect(report.lines.count == outcome.tally.total)
    }

    @Test func stopsWhereNobodyReadsTheReport() async throws {
        let writer = ReportWriter { (_) throws(ReportWriter.Failure) in throw .readerGone }
        let urls = (0..<5000).map { "http://h\($0)/cached/\($0)" }
        let outcome = await PrefetchJob(ManifestReader(MemorySource(list(urls))), runner: runner, report: writer).run()
        #expect(outcome.stop == .report(.readerGone))
    }
}
