import Larder
import Testing

@testable import LarderWorkers

struct RowCodingTests {
    @Test func bringsRowsAcross() {
        let rows = [
            Row(number: 1, url: "http://a/\"1\""),
            Row(number: 1 << 40, url: "", id: "한", sha256: "ab", sizes: ["64", "x128>"], priority: -3),
        ]
        for row in rows {
            let line = row.line(as: row.number)
            #expect(WorkerLine.row(of: line) == row.number)
            #expect(!line.contains(0x0A))
            #expect(Row(line: line) == row)
        }
    }

    @Test func bringsResultsAcrossAsTheyAre() throws {
        var facts = RowFacts(
            status: 200, format: .png, width: 3, height: 4, orientation: 1, bytes: 99, sha256: [0, 255], file: "ab/c")
        facts.isStale = true
        facts.thumbnails = [.init(size: "64x64", width: 3, height: 4, bytes: 50, file: nil)]
        let results: [RowResult] = [
            .success(.network, facts), .success(.revalidated, facts),
            .failure(RowError(.httpStatus(404, .init("a \"b\"\n"))), attempts: 2, milliseconds: 5),
            .failure(RowError(.corrupt(.init())), facts: facts), RowResult(outcome: .failure(code: "x"), tail: []),
        ]
        for result in results {
            let line = result.line(row: 12)
            #expect(WorkerLine.row(of: line) == 12)
            #expect(!line.contains(0x0A))
            #expect(RowResult(line: line) == result)
        }
    }

    @Test(arguments: [
        "", "{}", "[]", #"{"row":1"#, #"{"row":1,"phase":"maybe","rest":{}}"#,
        #"{"row":1,"phase":"success","source":"moon","rest":{}}"#,
    ])
    func refusesWhatIsNoResult(text: String) { #expect(RowResult(line: Array(text.utf8)) == nil) }

    @Test(arguments: ["", "{}", #"{"row":0,"url":"a"}"#, #"{"row":1,"url":5}"#, #"{"row":1,"sizes":"64"}"#])
    func refusesWhatIsNoRow(text: String) { #expect(Row(line: Array(text.utf8)) == nil) }
}

struct RowExporterTests {
    private func name(_ row: Row) -> String { RowExporter.name(of: row, key: CacheKey(url: row.url)) }

    @Test func namesFilesHarmlessly() {
        #expect(name(Row(number: 1, url: "http://a/b", id: "item-7_x.y")) == "item-7_x.y")
        #expect(name(Row(number: 1, url: "http://a/b", id: "../../etc/passwd")).hasPrefix("_._.._etc_passwd-"))
        #expect(name(Row(number: 1, url: "http://a/b", id: "한국어")) == "한국어")
        #expect(name(Row(number: 1, url: "http://a/b/cat%20one.jpg?x=/../1")).hasPrefix("cat_one-"))
        #expect(name(Row(number: 1, url: "http://a/")).hasPrefix("a-"))
        #expect(name(Row(number: 1, url: "http://a/" + String(repeating: "x", count: 500))).utf8.count < 140)
        #expect(!name(Row(number: 1, url: "u", id: "..\u{301}/\u{301}x/\u{5b0}y")).contains { $0 == "/" })
        #expect(!name(Row(number: 1, url: "u", id: "/\u{301}x")).utf8.contains(UInt8(ascii: "/")))
        let pair = ["a/b", "a_b"].map { name(Row(number: 1, url: "u", id: $0)) }
        #expect(pair[0] != pair[1], "what is made harmless stays apart from what was")
    }
}
