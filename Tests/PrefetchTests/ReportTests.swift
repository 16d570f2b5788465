import Foundation
import Larder
import LarderWorkers
import Testing

@testable import LarderPrefetch

struct ReportWriterTests {
    @Test func writesInOrderWhatComesMeanwhile() async throws {
        let written = Lock([[UInt8]]())
        let writer = ReportWriter { (bytes) throws(ReportWriter.Failure) in written.withLock { $0.append(bytes) } }
        for number in 0..<1000 { writer.append(Array("\(number)\n".utf8)) }
        try await writer.finish()
        let text = String(decoding: written.withLock { $0.flatMap { $0 } }, as: UTF8.self)
        #expect(text == (0..<1000).map { "\($0)\n" }.joined())
    }

    @Test func saysWhatWentWrongOnce() async {
        let calls = Lock(0)
        let writer = ReportWriter { (_) throws(ReportWriter.Failure) in
            calls.withLock { $0 += 1 }
            throw .unwritable("No space left on device")
        }
        writer.append([1])
        await #expect(throws: ReportWriter.Failure.unwritable("No space left on device")) { try await writer.finish() }
        writer.append([2])
        await #expect(throws: ReportWriter.Failure.self) { try await writer.ready() }
        #expect(calls.withLock { $0 } == 1)
    }

    @Test func knowsAReaderThatHasGone() async throws {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        close(ends[0])
        let writer = ReportWriter(descriptor: ends[1])
        writer.append([1])
        await #expect(throws: ReportWriter.Failure.readerGone) { try await writer.finish() }
        close(ends[1])
    }

    @Test func refusesAFileThatCannotBe() {
        #expect(throws: ReportWriter.Failure.unwritable("No such file or directory")) {
            try ReportWriter(path: "/nonexistent/report.jsonl")
        }
    }
}

struct SummaryTests {
    private func outcome(_ results: [RowResult], stop: PrefetchJob.Stop? = nil, seconds: Double = 2)
        -> PrefetchJob.Outcome
    {
        var tally = Tally()
        for (index, result) in results.enumerated() {
            tally.count(Row(number: index + 1, url: "http://a/\(index)"), result, isDuplicate: false)
        }
        return .init(tally: tally, stop: stop, seconds: seconds, hostTimes: HostTimes())
    }

    private let good = RowResult(outcome: .success(.network), bytes: 1_000_000, tail: [])
    private func bad(_ error: ImageError) -> RowResult { .failure(RowError(error)) }

    @Test func isOneObjectOnALine() {
        let summary = Summary(outcome([good, good, bad(.httpStatus(404, .init())), bad(.refused(.filter, .init()))]))
        #expect(
            String(decoding: summary.json, as: UTF8.self)
                == #"{"total":4,"success":2,"failure":2,"from_network":2,"from_disk":0,"revalidated":0,"duplicates":0,"bytes":2000000,"seconds":2.000,"images_per_second":1.0,"errors":{"filtered":1,"http_status":1}}"#
                + "\n")
    }

    @Test func choosesTheExitStatus() {
        let failed = bad(.notAnImage(.init()))
        let filtered = bad(.refused(.filter, .init()))
        #expect(Summary(outcome([])).exitStatus == 0)
        #expect(Summary(outcome([good])).exitStatus == 0)
        #expect(Summary(outcome([good, filtered])).exitStatus == 0)
        #expect(Summary(outcome([filtered])).exitStatus == 0)
        #expect(Summary(outcome([good, failed])).exitStatus == 1)
        #expect(Summary(outcome([failed, filtered])).exitStatus == 3)
    }

    @Test func tellsPeopleWhatFailedAndWhy() {
        let summary = Summary(outcome([good, bad(.httpStatus(404, .init("no such file")))], stop: .interrupted))
        let text = summary.text().joined(separator: "\n")
        #expect(text.contains("1 of 2 images in 2.00 s, 0.5 images/s, 977 KB downloaded  interrupted"))
        #expect(text.contains("1 http_status"))
        #expect(text.contains("row 2 http_status: http://a/1"))
        #expect(text.contains("There is no image at this address (status 404). Check the address. (no such file)"))
        #expect(String(decoding: summary.json, as: UTF8.self).contains(#""interrupted":true"#))
    }

    @Test(arguments: [
        (0, "0 B"), (999, "999 B"), (1000, "0.98 KB"), (1536, "1.50 KB"), (812_345, "793 KB"), (5 << 30, "5.00 GB"),
    ])
    func writesBytes(number: Int, text: String) { #expect(Amount.bytes(number) == text) }

    @Test(arguments: [(0.5, "0.50 s"), (59.94, "59.9 s"), (61, "1:01"), (3725, "1:02:05"), (.infinity, "-")])
    func writesTimes(seconds: Double, text: String) { #expect(Amount.time(seconds) == text) }

    @Test(arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567")])
    func writesCounts(number: Int, text: String) { #expect(Amount.count(number) == text) }
}

struct ProgressLineTests {
    private func tally(_ success: Int, failures: Int = 0, bytes: Int = 0) -> Tally {
        var tally = Tally()
        for _ in 0..<success {
            tally.count(
                Row(number: 1, url: ""), .init(outcome: .success(.network), bytes: bytes, tail: []), isDuplicate: false)
        }
        for _ in 0..<failures {
            tally.count(
                Row(number: 1, url: ""), .init(outcome: .failure(code: "http_status"), tail: []), isDuplicate: false)
        }
        return tally
    }

    @Test func showsABarAndTheTimeToGo() {
        var line = ProgressLine(expected: 400, begin: 0)
        let now = tally(98, failures: 2, bytes: 1 << 20)
        line.note(now, now: 10)
        let text = line.text(now, underWay: 16, width: 120) { text, _ in "<\(text)>" }
        #expect(
            text
                == "███████░░░░░░░░░░░░░░░░░░░░░░░  100/400  10/s  9.80 MB/s  ETA 30.0 s  16 under way<  2 failed (2 http_status)>"
        )
    }

    @Test func countsWhereNobodyKnowsHowMany() {
        var line = ProgressLine(begin: 0)
        line.note(tally(5), now: 1)
        #expect(line.text(tally(5), underWay: 0, width: 80) { text, _ in text } == "5  5/s")
        #expect(line.plainText(tally(5)) == "5 done, 5.0 rows/s, 0 B/s")
    }

    @Test(arguments: [1, 5, 20, 40, 60, 80]) func staysOnOneLine(width: Int) {
        var line = ProgressLine(expected: 1_000_000, begin: 0)
        let now = tally(900, failures: 50, bytes: 5000)
        line.note(now, now: 1)
        #expect(line.text(now, underWay: 16, width: width) { text, _ in text }.count < width)
    }

    @Test func takesRatesFromTheLastSeconds() {
        var line = ProgressLine(begin: 0)
        for second in 1...20 { line.note(tally(second < 10 ? second * 100 : 900 + second), now: Double(second)) }
        #expect(line.rates.rows == 1)
    }
}

struct RowSelectionTests {
    private func all(_ source: any RowSource) throws -> [Row] {
        var rows: [Row] = []
        while case let more = try source.next(3), !more.isEmpty { rows += more }
        return rows
    }

    private let manifest = (1...10).map { "http://a/\($0)" }.joined(separator: "\n")

    @Test func splitsIntoShards() throws {
        var numbers: [[Int]] = []
        for index in 1...3 {
            let reader = ManifestReader(MemorySource(manifest))
            numbers.append(try all(RowSelection(reader, shard: index, of: 3)).map(\.number))
        }
        #expect(numbers == [[1, 4, 7, 10], [2, 5, 8], [3, 6, 9]])
    }

    private let report = """
        {"row":3,"id":"x","url":"http://a/3","phase":"failure","error":{"code":"http_status","message":"m"},"input":{"n":1}}
        {"row":1,"url":"http://a/1","phase":"success","bytes":3}
        {"row":7,"url":"http://a/7","phase":"failure","error":{"code":"filtered"}}
        {"row":2,"url":"http://a/2","phase":"failure","error":{"code":"cancelled"}}

        """

    @Test func takesTheFailedRowsOfAReport() throws {
        let rows = try all(FailedRows(MemorySource(report, chunk: 5)))
        #expect(rows.map(\.number) == [3, 2])
        #expect(rows[0].id == "x")
        #expect(String(decoding: rows[0].input, as: UTF8.self) == #"{"n":1}"#)
        #expect(try FailedRows(MemorySource(report)).numbers() == [2, 3])
    }

    @Test func asksAgainForWhatWasWanted() throws {
        var row = Row(number: 4, url: "http://a/4", sha256: String(repeating: "ab", count: 32))
        row.sizes = ["256", "x128>"]
        row.priority = -2
        var line: [UInt8] = []
        ReportLine.append(row, .failure(RowError(.hashMismatch(.init()))), to: &line)
        #expect(try all(FailedRows(MemorySource(line))) == [row])
        // A success says what the image is; what was wanted of it no longer matters.
        line = []
        ReportLine.append(row, RowResult(outcome: .success(.disk), tail: []), to: &line)
        #expect(!String(decoding: line, as: UTF8.self).contains("wanted"))
    }

    /// The line of an image whose thumbnail failed has the image's own SHA-256: nobody asked for that.
    @Test func takesWhatWasFoundForNoWish() throws {
        let line = #"{"row":1,"url":"http://a/1","phase":"failure","error":{"code":"corrupt"},"sha256":"ab"}"#
        #expect(try all(FailedRows(MemorySource(line))) == [Row(number: 1, url: "http://a/1")])
    }

    @Test(arguments: ["hash_mismatch", "bad_row"]) func acceptsNothingBlindly(code: String) throws {
        let line = #"{"row":1,"url":"http://a/1","phase":"failure","error":{"code":"\#(code)"}}"#
        let row = try #require(try all(FailedRows(MemorySource(line))).first)
        #expect(row.problem?.contains("its manifest") == true)
    }

    /// A run that was killed leaves a line that is cut off.
    @Test func leavesOutALineThatIsCutOff() throws {
        for end in ["", "{", #"{"row":9,"url":"http:"#] {
            let rows = FailedRows(MemorySource(report.trimmingCharacters(in: ["\n"]) + "\n" + end))
            #expect(try all(rows).map(\.number) == [3, 2])
            #expect((rows.omission == nil) == end.isEmpty)
        }
        #expect(throws: ManifestError.self) { try all(FailedRows(MemorySource("{"))) }
    }

    @Test func saysWhereAReportIsNone() {
        let error = #expect(throws: ManifestError.self) {
            try FailedRows(MemorySource("{\"row\":1}\nhello\n")).numbers()
        }
        #expect(error?.message.hasPrefix("line 2: it is no line of a report") == true)
        #expect(throws: ManifestError.self) { try FailedRows(MemorySource("{\"url\":\"a\"}\n")).numbers() }
    }

    @Test func findsNumbersInASortedList() {
        let numbers = [2, 3, 5, 8]
        #expect((0...9).filter { numbers.containsSorted($0) } == numbers)
        #expect(![Int]().containsSorted(1))
    }
}

struct SurveyTests {
    @Test func countsWithoutTheNetwork() async throws {
        let runner = ScriptedRunner()
        let urls = ["http://a/cached/1", "http://a/ok/1", "http://b/ok/2", "http://a/ok/1", "nothing"]
        let manifest = ManifestReader(MemorySource(urls.joined(separator: "\n")))
        let survey = try await Survey.run(manifest, runner: runner)
        #expect(
            String(decoding: survey.json, as: UTF8.self)
                == #"{"total":5,"bad_rows":1,"duplicates":1,"cached":1,"to_fetch":2,"hosts":2}"# + "\n")
        #expect(runner.runs.isEmpty)
    }
}
