import CZlib
import Foundation
import Larder
import LarderWorkers
import Testing

@testable import LarderPrefetch

struct ManifestReaderTests {
    /// Every row of a manifest, read in pieces of each of several sizes: what is found must not depend on them.
    private func rows(
        _ bytes: [UInt8], _ format: ManifestFormat? = nil, path: [String] = [], urlColumn: String = "url",
        limit: Int = 1000
    ) throws -> [Row] {
        var found: [[Row]] = []
        for chunk in [1, 2, 3, 7, 64 << 10] {
            let options = ManifestOptions(format: format, urlColumn: urlColumn, itemsPath: path, recordLimit: limit)
            let reader = ManifestReader(MemorySource(bytes, chunk: chunk), options: options)
            var rows: [Row] = []
            while case let more = try reader.next(3), !more.isEmpty { rows += more }
            found.append(rows)
        }
        #expect(Set(found).count == 1, "the rows depend on how the bytes arrive")
        return found[0]
    }

    private func rows(
        _ text: String, _ format: ManifestFormat? = nil, path: [String] = [], urlColumn: String = "url",
        limit: Int = 1000
    ) throws -> [Row] {
        try rows(Array(text.utf8), format, path: path, urlColumn: urlColumn, limit: limit)
    }

    private func input(_ row: Row) -> String { String(decoding: row.input, as: UTF8.self) }

    // MARK: text

    @Test func readsAURLALine() throws {
        let found = try rows("\u{FEFF}http://a/1,2.jpg\r\n\n  http://a/b c.png \n# a comment\nhttp://a/3", .txt)
        #expect(found.map(\.url) == ["http://a/1,2.jpg", "http://a/b c.png", "http://a/3"])
        #expect(found.map(\.number) == [1, 2, 3])
    }

    @Test func refusesLongLinesAndBadTextAsRows() throws {
        let long = [UInt8](repeating: UInt8(ascii: "a"), count: 1000)
        let found = try rows(
            Array("http://a/1\n".utf8) + long + [0x0A, 0xFF, 0xFE, 0x41, 0x0A] + Array("http://a/2".utf8), .txt)
        #expect(found.map(\.url) == ["http://a/1", "", "", "http://a/2"])
        #expect(found.map(\.problem) == [nil, "it is 1000 bytes or longer", "it is not valid UTF-8", nil])
    }

    @Test func holdsNoMoreThanALineOfALongOne() throws {
        var stream = try ByteStream(MemorySource([UInt8](repeating: 65, count: 5_000_000) + [10, 66], chunk: 64 << 10))
        guard case .tooLong = try stream.nextLine(limit: 1_000_000) else { return #expect(Bool(false)) }
        #expect(stream.buffer.count < 1_200_000)
        guard case .line(let range) = try stream.nextLine(limit: 1_000_000) else { return #expect(Bool(false)) }
        #expect(Array(stream.buffer[range]) == [66])
    }

    @Test(arguments: ["", "\n\n", "\u{FEFF}"]) func findsNoRowsInNothing(text: String) throws {
        #expect(try rows(text, .txt).isEmpty)
        #expect(try rows(text, .csv).isEmpty)
        #expect(try rows(text, .jsonl).isEmpty)
    }

    // MARK: CSV

    @Test func readsCSVByRFC4180() throws {
        let text =
            "\u{FEFF}id, url ,note\r\n1,http://a/1,plain\r\n2,\"http://a/2,3\",\"two\r\nlines, \"\"quoted\"\"\"\r\n\r\n3,http://a/4,"
        let found = try rows(text, .csv)
        #expect(found.map(\.url) == ["http://a/1", "http://a/2,3", "http://a/4"])
        #expect(found.map(\.id) == ["1", "2", "3"])
        #expect(
            found.map(input) == [
                #"{"note":"plain"}"#, #"{"note":"two\r\nlines, \"quoted\""}"#, #"{"note":""}"#,
            ])
    }

    @Test func readsTSVAndAnotherColumn() throws {
        let found = try rows("image\turl\na,b\tc\n", .tsv, urlColumn: "image")
        #expect(found.map(\.url) == ["a,b"])
        #expect(found.map(input) == [#"{"url":"c"}"#])
    }

    @Test func readsTheColumnsThatMeanSomething() throws {
        let hash = String(repeating: "aB", count: 32)
        let found = try rows("url,sha256,sizes,priority\nu,\(hash),256 x128>,-2\nu,xyz,,\nu,,,soon\n", .csv)
        #expect(found[0].sha256 == hash.lowercased())
        #expect(found[0].sizes == ["256", "x128>"])
        #expect(found[0].priority == -2)
        #expect(found[0].input.isEmpty)
        #expect(found.map(\.problem) == [nil, "sha256 is not 64 hex digits", "priority is not a whole number"])
    }

    @Test func refusesBadRecordsAsRows() throws {
        let found = try rows("url,x\n\"a\"b,1\na,b,c\n,1\na,\"\(String(repeating: "z", count: 1000))\"\nb\n\"c", .csv)
        #expect(found.map { $0.problem == nil } == [false, false, false, false, true, false])
        #expect(found[2].problem == "it has no url")
        #expect(found[4].url == "b")
        #expect(found[5].problem == "a quoted field has no end")
    }

    /// A quote that does not begin a field is a byte like any other: an inch mark swallows no rows.
    @Test func takesAQuoteInsideAFieldAsItIs() throws {
        let found = try rows("url,x\na,5\" screen\nb,\"x, \"\"y\"\"\nz\"\nc,1\"2\"\n\"d\",\"\"\ne,\n", .csv)
        #expect(found.map(\.url) == ["a", "b", "c", "d", "e"])
        #expect(
            found.map { input($0) }.prefix(3) == [#"{"x":"5\" screen"}"#, #"{"x":"x, \"y\"\nz"}"#, #"{"x":"1\"2\""}"#])
    }

    @Test func splitsByBytesAndNotByCharacters() throws {
        let found = try rows("url,x,y\na,\u{301}b,c\n", .csv)
        #expect(found.map(\.url) == ["a"])
        #expect(found.first?.problem == nil)
    }

    @Test func takesTheColumnInAnyCaseAndFindsTablesByTheirHeader() throws {
        #expect(try rows("Id,URL\n1,a\n", .csv).map(\.url) == ["a"])
        #expect(try rows("URL,url\n1,a\n", .csv).map(\.url) == ["a"])
        #expect(try rows("id,\"url\"\n1,a\n").map(\.url) == ["a"])
        #expect(try rows("id\turl\n1\ta\n").map(\.url) == ["a"])
        #expect(try rows("id,image\n1,a\n", urlColumn: "image").map(\.url) == ["a"])
        #expect(try rows("http://a/url,1\n").map(\.url) == ["http://a/url,1"])
    }

    @Test(arguments: [
        (#"["a","b" oops"#, ManifestFormat.json), (#"["a","b","#, .json), (#"["a","b",}"#, .json),
    ])
    func givesWhatStandsBeforeAMistake(text: String, format: ManifestFormat) throws {
        let reader = ManifestReader(MemorySource(text), options: ManifestOptions(format: format))
        #expect(try reader.next(100).map(\.url) == ["a", "b"])
        for _ in 0..<2 { #expect(throws: ManifestError.self) { try reader.next(100) } }
    }

    @Test func givesWhatStandsBeforeTheEndOfCutGzip() throws {
        let lines = (0..<20_000).map { "http://a/\($0 &* 2_654_435_761 % 1_000_003)" }
        let whole = try gzip(lines.joined(separator: "\n"))
        let reader = ManifestReader(MemorySource(Array(whole.prefix(whole.count / 2))))
        var found: [String] = []
        let error = #expect(throws: ManifestError.self) {
            while true { found += try reader.next(1000).map(\.url) }
        }
        #expect(error?.message == "the gzip data are cut short")
        #expect(found.count > 5000 && found == Array(lines.prefix(found.count)))
    }

    /// Gives one piece; a second look at it fails the test.
    private final class Pipe: ByteSource {
        private let piece: Lock<[UInt8]?>
        init(_ text: String) { piece = Lock(Array(text.utf8)) }
        var isReady: Bool { false }
        func stop() {}
        func read(into buffer: inout [UInt8]) {
            let bytes = piece.withLock { piece in
                defer { piece = nil }
                return piece
            }
            if bytes == nil { Issue.record("it waits for more") }
            buffer += bytes ?? []
        }
    }

    @Test(arguments: [
        #"["a", {"url":"b"},"#, #"["a",{"url":"b"}  , {"url":"#, #"["a","b"]"#, "[\"a\",\"b\"\n",
    ])
    func holdsNoRowOfALivePipeBack(text: String) throws {
        let reader = ManifestReader(Pipe(text), options: ManifestOptions(format: .json))
        #expect(try reader.next(2).map(\.url) == ["a", "b"])
        if !text.hasSuffix("]") {
            let other = ManifestReader(Pipe(text), options: ManifestOptions(format: .json))
            #expect(try other.next(3).map(\.url) == ["a", "b"])
        }
    }

    @Test func saysWhichColumnsThereAre() {
        #expect(
            throws: ManifestError.malformed(
                "there is no column 'url' in the header row, only: a, b; name the right one with --url-col",
                place: "line 1")
        ) { try rows("a,b\n1,2\n", .csv) }
    }

    // MARK: JSON

    @Test func readsStringsAndObjectsALine() throws {
        let text = """
            "http://a/1"
            {"url": "http:\\/\\/a\\/\\uD83D\\uDE00", "id": 7, "x": [1, {"y": " z"}], "priority": 3, "sizes": ["64", 32]}

            {"id": "b"}
            [1]
            {"url": 5}
            {"url": "u"
            {"url":"v","id":null,"k\\n":true}
            """
        let found = try rows(text, .jsonl)
        #expect(found.map(\.url) == ["http://a/1", "http://a/😀", "", "", "", "", "v"])
        #expect(found[1].id == "7")
        #expect(input(found[1]) == #"{"x":[1,{"y":" z"}]}"#)
        #expect(found[1].sizes == ["64", "32"])
        #expect(found[1].priority == 3)
        #expect(
            found.map(\.problem) == [
                nil, nil, "it has no url", "it is neither a string nor an object", "url is of the wrong kind",
                "byte 12 of the line: the JSON ends too early", nil,
            ])
        #expect(found[6].id == nil)
        #expect(input(found[6]) == #"{"k\n":true}"#)
    }

    @Test func readsAnArrayElementByElement() throws {
        let found = try rows(#" [ "a" , {"url":"b]","n":1.5e3}, 7, "c\"," ] "# + "\n", .json)
        #expect(found.map(\.url) == ["a", "b]", "", "c\","])
        #expect(found[2].problem == "it is neither a string nor an object")
        #expect(try rows("[]", .json).isEmpty)
    }

    @Test func findsTheListInsideAnObject() throws {
        let text = #"{"next":null,"items":{"total":2,"list":["a",{"url":"b"}],"x":[1,[2]]},"z":"}"}"#
        #expect(try rows(text, path: ["items", "list"]).map(\.url) == ["a", "b"])
    }

    @Test(arguments: [
        ("", "byte 1: the JSON ends too early"),
        ("<html>", "byte 1: not a JSON list: '[' was expected, found '<'"),
        ("[\"a\",", "byte 6: the JSON ends too early"),
        ("[\"a\" \"b\"]", "byte 6: a comma or the end of the list was expected"),
        ("[\"a\"] x", "byte 7: there is something behind the list"),
        ("[{\"url\":}]", "byte 9: not JSON: a value was expected"),
        ("[1,]", "byte 4: a value was expected"),
        ("[\"a", "byte 4: the JSON ends too early"),
    ])
    func saysWhereJSONIsMalformed(text: String, message: String) {
        let error = #expect(throws: ManifestError.self) { try rows(text, .json) }
        #expect(error?.message == message)
    }

    @Test func saysWhatItFoundInsteadOfAList() {
        let plain = #expect(throws: ManifestError.self) { try rows(#"{"items":[],"next":1}"#, .json) }
        #expect(plain?.message.contains("the keys items, next") == true)
        let inside = #expect(throws: ManifestError.self) { try rows(#"{"items":[],"next":1}"#, path: ["rows"]) }
        #expect(inside?.message.contains("no key 'rows', only: items, next") == true)
    }

    @Test func refusesALongElementAsARow() throws {
        let found = try rows("[\"\(String(repeating: "a", count: 2000))\",\"b\"]", .json)
        #expect(found.map(\.problem) == ["it is 1000 bytes or longer", nil])
    }

    @Test func givesUpOnDeepNestingWithoutCrashing() throws {
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        #expect(try rows("{\"url\":\(deep)}", .jsonl)[0].problem?.contains("nested deeper") == true)
        #expect(throws: ManifestError.self) { try rows("[\(deep)]", .json) }
        #expect(throws: ManifestError.self) { try rows("[" + String(repeating: "{\"a\":", count: 20_000), .json) }
    }

    // MARK: what it is

    @Test(arguments: [
        ("a/urls.txt", ManifestFormat.txt), ("a.csv.gz", .csv), ("A.TSV", .tsv), ("x.json", .json),
        ("x.ndjson.gz", .jsonl), ("http://h/list.json?page=2", .json),
    ])
    func knowsTheFormatByItsName(name: String, format: ManifestFormat) { #expect(ManifestFormat(name: name) == format) }

    @Test func sniffsWhatHasNoName() throws {
        #expect(ManifestFormat(name: "-") == nil)
        #expect(ManifestFormat(name: "manifest.d/list") == nil)
        #expect(try rows("\n [\"a\"]").map(\.url) == ["a"])
        #expect(try rows("{\"url\":\"a\"}\n{\"url\":\"b\"}").map(\.url) == ["a", "b"])
        #expect(try rows("http://a\n").map(\.url) == ["http://a"])
    }

    @Test func refusesUTF16() {
        #expect(throws: ManifestError.self) { try rows([0xFF, 0xFE, 0x68, 0x00], .txt) }
    }

    // MARK: gzip

    @Test func decompressesMembersOneBehindAnother() throws {
        let bytes = try gzip("http://a/1\nhttp://") + gzip("") + gzip("a/2\n") + [0, 0, 0]
        #expect(try rows(bytes, .txt).map(\.url) == ["http://a/1", "http://a/2"])
    }

    @Test func saysThatGzipIsCutOrDamaged() throws {
        let whole = try gzip((0..<500).map { "http://a/\($0 &* 7919)\n" }.joined())
        let cut = #expect(throws: ManifestError.self) { try rows(Array(whole.dropLast(20)), .txt) }
        #expect(cut?.message == "the gzip data are cut short")
        var damaged = whole
        damaged[whole.count / 2] ^= 0xFF
        damaged[whole.count - 6] ^= 0xFF
        let error = #expect(throws: ManifestError.self) { try rows(damaged, .txt) }
        #expect(error?.message == "the gzip data are damaged")
    }

    private func gzip(_ text: String) throws -> [UInt8] {
        var stream = z_stream()
        try #require(
            deflateInit2_(
                &stream, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
                == Z_OK)
        defer { deflateEnd(&stream) }
        var input = Array(text.utf8)
        var output = [UInt8](repeating: 0, count: input.count + 1000)
        return input.withUnsafeMutableBufferPointer { input in
            output.withUnsafeMutableBufferPointer { output in
                stream.next_in = input.baseAddress
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(output.count)
                deflate(&stream, Z_FINISH)
                return Array(output[..<Int(stream.total_out)])
            }
        }
    }

    // MARK: files

    @Test func readsAFileAndSaysWhyItCannot() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "larder-\(UUID()).jsonl").path
        try "{\"url\":\"a\"}\n".write(toFile: path, atomically: false, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try ManifestReader(path: path).next(10).map(\.url) == ["a"])
        #expect(throws: ManifestError.unreadable("No such file or directory")) { try ManifestReader(path: path + "x") }
        #expect(throws: ManifestError.unreadable("it is a directory")) { try ManifestReader(path: "/") }
    }

    @Test func givesWhatIsThereWithoutWaitingForMore() throws {
        let fifo = FileManager.default.temporaryDirectory.appending(path: "larder-\(UUID())").path
        try #require(mkfifo(fifo, 0o600) == 0)
        defer { unlink(fifo) }
        let writer = open(fifo, O_RDWR)
        defer { close(writer) }
        let reader = try ManifestReader(path: fifo)
        _ = write(writer, "http://a\nhttp://b\nhttp", 22)
        #expect(try reader.next(100).map(\.url) == ["http://a", "http://b"])
        reader.stop()
        #expect(throws: ManifestError.stopped) { try reader.next(100) }
    }
}
