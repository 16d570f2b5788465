import Foundation
import Larder
import LarderWorkers
import TestSupport
import Testing

@testable import LarderPrefetch

struct ManifestEndpointTests {
    @Test func escapesWhatIsMeant() throws {
        let base = try #require(URL(string: "https://example.com/api/?v=1"))
        let endpoint = ManifestEndpoint(
            base: base, path: ["목록", "a b/c"],
            query: [.init("q", "고양이 & 개"), .init("tag", "c++"), .init("flag", nil), .init("=", "100%")])
        #expect(
            endpoint.url?.absoluteString
                == "https://example.com/api/%EB%AA%A9%EB%A1%9D/a%20b%2Fc?v=1"
                + "&q=%EA%B3%A0%EC%96%91%EC%9D%B4%20%26%20%EA%B0%9C&tag=c%2B%2B&flag&%3D=100%25")
    }

    @Test func leavesAPlainAddressAsItIs() throws {
        #expect(
            ManifestEndpoint("https://example.com/a?x=1%2B1")?.url?.absoluteString == "https://example.com/a?x=1%2B1")
        #expect(
            ManifestEndpoint("https://example.com/목록 1.json")?.url?.absoluteString
                == "https://example.com/%EB%AA%A9%EB%A1%9D%201.json")
        for text in ["", "file:///etc/passwd", "ftp://a/b", "http://", "/a"] { #expect(ManifestEndpoint(text) == nil) }
    }
}

struct LinkHeaderTests {
    @Test(arguments: [
        (#"<https://a/2>; rel="next""#, "https://a/2"),
        (#"<https://a/1>; rel="prev", </b?page=2,3>; rel=next; title="x, y""#, "/b?page=2,3"),
        (#"<c>; title="rel=next, <d>"; rel="last next""#, "c"),
        (#"<a>; REL = "NEXT""#, "a"),
        (#"<a>; rel="nextish""#, nil), ("", nil), ("<a", nil), ("next", nil), (#"<a>"#, nil),
    ])
    func findsTheNextPage(value: String, target: String?) {
        #expect(LinkHeader.target("next", in: [value]) == target)
    }
}

struct ChannelSourceTests {
    private func read(_ source: ChannelSource) throws(ManifestError) -> [UInt8] {
        var bytes: [UInt8] = []
        try source.read(into: &bytes)
        return bytes
    }

    private func piece(_ number: Int) -> [UInt8] { (0..<(37 + number * 13 % 200)).map { UInt8(($0 + number) & 0xFF) } }

    /// Who puts bytes in waits for nobody, and the reader finds them in order, whatever had to wait in the file.
    @Test(arguments: [1, 3, 50, 1000]) func keepsWhatIsNotReadYet(readsAfter: Int) async throws {
        let source = ChannelSource(highWater: 500)
        var (sent, found): ([UInt8], [UInt8]) = ([], [])
        for number in 0..<300 {
            #expect(await source.put(piece(number)))
            sent += piece(number)
            if number % readsAfter == readsAfter - 1 { while found.count < sent.count { found += try read(source) } }
        }
        source.finish()
        while case let more = try read(source), !more.isEmpty { found += more }
        #expect(found == sent)
        #expect(source.isReady)
    }

    @Test func saysWhatHasGoneWrongBehindWhatHasCome() async throws {
        let source = ChannelSource(highWater: 10)
        for number in 0..<3 { #expect(await source.put(piece(number))) }
        source.finish(.notFetched("cut"))
        var found: [UInt8] = []
        let error = #expect(throws: ManifestError.self) { while true { found += try read(source) } }
        #expect(error == .notFetched("cut"))
        #expect(found == piece(0) + piece(1) + piece(2))
        source.stop()
        #expect(await !source.put([1]))
        #expect(throws: ManifestError.stopped) { try read(source) }
    }
}

struct RemoteManifestTests {
    private let origin: Origin

    init() throws { origin = try Origin() }

    private func manifest(
        _ path: String, _ options: ManifestOptions = .init(),
        _ change: (inout RemoteManifest.Configuration) -> Void = { _ in }
    ) -> RemoteManifest {
        var configuration = RemoteManifest.Configuration()
        configuration.retries = 2
        change(&configuration)
        return RemoteManifest(
            origin.url(path), client: HTTPClient(transport: URLSessionTransport()), configuration: configuration,
            options: options, time: ManualTime(sleepsAdvance: true))
    }

    private func rows(_ manifest: RemoteManifest) async -> Result<[Row], ManifestError> {
        await BlockingExecutor(name: "test", width: 1).perform {
            var all: [Row] = []
            do throws(ManifestError) {
                while true {
                    let rows = try manifest.next(2)
                    if rows.isEmpty { return .success(all) }
                    all += rows
                }
            } catch { return .failure(error) }
        }
    }

    private func json(_ text: String, _ fields: [(String, String)] = []) -> OriginReply {
        .ok(Array(text.utf8), type: "application/json; charset=utf-8", fields)
    }

    @Test func readsTheJSONOfAnAPIPageByPage() async throws {
        origin.on(
            "/list",
            json(#"{"items":["http://a/1","http://a/2","http://a/3"]}"#, [("Link", #"</list2?x=1>; rel="next""#)]))
        origin.on("/list2?x=1", json(#"{"items":[{"url":"http://a/4","n":4}]}"#))
        let manifest = manifest("/list", ManifestOptions(itemsPath: ["items"])) { $0.fields = ["X-Key": "secret"] }
        let found = try await rows(manifest).get()
        #expect(found.map(\.url) == ["http://a/1", "http://a/2", "http://a/3", "http://a/4"])
        #expect(found.map(\.number) == [1, 2, 3, 4])
        #expect(origin.requests.map { $0["x-key"] } == ["secret", "secret"])
    }

    @Test func readsURLsRelativeToTheirPage() async throws {
        let page = #"["/a.png","b/c.png?x=1","//cdn.example/d","HTTPS://e.example/f"," http://g/h ","사진.png","?q",""]"#
        origin.on("/lists/first", .redirect("/moved/list"))
        origin.on("/moved/list", json(page))
        let base = origin.url("/").absoluteString
        let found = try await rows(manifest("/lists/first")).get()
        #expect(
            found.map(\.url) == [
                base + "a.png", base + "moved/b/c.png?x=1", "http://cdn.example/d", "HTTPS://e.example/f",
                " http://g/h ",
                base + "moved/%EC%82%AC%EC%A7%84.png", base + "moved/list?q", "",
            ])
    }

    @Test func followsNoMorePagesThanAsked() async throws {
        origin.otherwise { request in
            .ok(Array(#"["http://a/x"]"#.utf8), type: "application/json", [("Link", "<\(request.target)1>; rel=next")])
        }
        let manifest = manifest("/p") { $0.maxPages = 3 }
        let found = try await rows(manifest).get()
        #expect(found.count == 3)
        #expect(manifest.omission?.contains("behind page 3, at \(origin.url("/p111").absoluteString)") == true)
        #expect(origin.requests.count == 3)
    }

    @Test func endsWhereAListLeadsBackIntoItself() async throws {
        origin.on("/1", json(#"["http://a/1"]"#, [("Link", "</2>; rel=next")]))
        origin.on("/2", json(#"["http://a/2"]"#, [("Link", "</1>; rel=next")]))
        guard case .failure(.malformed(let reason, _)) = await rows(manifest("/1")) else {
            return #expect(Bool(false))
        }
        #expect(reason == "page 2 leads back to \(origin.url("/1").absoluteString), which was read before")
        #expect(origin.requests.count == 2)
    }

    @Test func namesThePageThatCannotBeHad() async throws {
        origin.on("/1", json(#"["http://a/1"]"#, [("Link", "</2>; rel=next")]))
        origin.on("/2", .status(404))
        guard case .failure(.notFetched(let reason)) = await rows(manifest("/1")) else {
            return #expect(Bool(false))
        }
        #expect(reason.hasPrefix("page 2, \(origin.url("/2").absoluteString): "))
    }

    @Test func takesNoSecretToAnotherOrigin() async throws {
        let other = try Origin()
        origin.on("/list", json("[]", [("Link", "<\(other.url("/next"))>; rel=next")]))
        other.on("/next", json(#"["http://a/1"]"#))
        let found = try await rows(manifest("/list") { $0.fields = ["Authorization": "Bearer x", "X-Key": "y"] }).get()
        #expect(found.count == 1)
        #expect(other.requests.first?["authorization"] == nil)
        #expect(other.requests.first?["x-key"] == nil)
    }

    @Test func tellsFailedMalformedAndEmptyApart() async throws {
        origin.on("/missing", .status(404))
        origin.on("/page", .ok(Array("<html>".utf8), type: "text/html"))
        origin.on("/broken", json(#"["http://a/1","#))
        origin.on("/empty", json("[]"))
        guard case .failure(.notFetched(let reason)) = await rows(manifest("/missing")) else {
            return #expect(Bool(false))
        }
        #expect(reason.contains("404"))
        guard case .failure(.malformed) = await rows(manifest("/broken")) else { return #expect(Bool(false)) }
        #expect(await rows(manifest("/empty")) == .success([]))
        guard case .failure(.malformed) = await rows(manifest("/page", ManifestOptions(format: .json))) else {
            return #expect(Bool(false))
        }
    }

    @Test func triesAgainWhatMayPass() async throws {
        origin.on("/list", .status(503), .status(503), json(#"["http://a/1"]"#))
        #expect(try await rows(manifest("/list")).get().count == 1)
        #expect(origin.requests.count == 3)
        origin.on("/down", .status(503))
        guard case .failure(.notFetched) = await rows(manifest("/down")) else { return #expect(Bool(false)) }
        #expect(origin.requests.count == 6)
    }

    @Test func stopsWhileAPageIsComing() async throws {
        let gate = Gate()
        origin.on("/slow", .gated(Array(#"["http://a/1","http://a/2"]"#.utf8), after: 14, at: gate))
        let manifest = manifest("/slow")
        async let found = rows(manifest)
        _ = await origin.requests(atLeast: 1)
        manifest.stop()
        #expect(await found == .failure(.stopped))
    }

    @Test func knowsTheFormatByTypeOrName() async throws {
        origin.on("/a.csv", .ok(Array("url\nhttp://a/1\n".utf8), type: "application/octet-stream"))
        origin.on("/b", .ok(Array("http://a/1\n".utf8), type: "text/plain"))
        origin.on("/c.csv?x=1", .ok(Array("n,url\n1,http://a/1\n".utf8), type: "text/plain; charset=utf-8"))
        #expect(try await rows(manifest("/c.csv?x=1")).get().map(\.url) == ["http://a/1"])
        #expect(try await rows(manifest("/a.csv")).get().map(\.url) == ["http://a/1"])
        #expect(try await rows(manifest("/b")).get().map(\.url) == ["http://a/1"])
    }
}
