import Foundation
import Larder
import LarderWorkers
import TestSupport
import Testing

@testable import LarderServer

/// Fetches by storing what it is given.
private final class StubReadThrough: ReadThrough {
    typealias Outcome = @Sendable (ServerFixture, NormalizedURL) throws -> FetchedImage
    let fixture: ServerFixture
    let outcome: Outcome
    let calls = Lock<[String]>([])

    init(_ fixture: ServerFixture, _ outcome: @escaping Outcome) {
        self.fixture = fixture
        self.outcome = outcome
    }

    func fetch(_ url: NormalizedURL) async throws(Problem) -> FetchedImage {
        calls.withLock { $0.append(url.string) }
        do { return try outcome(fixture, url) } catch {
            throw Problem((error as? ImageError) ?? .corrupt(.init("\(error)")))
        }
    }
}

/// Rows that all fail.
private struct FailingRunner: RowRunner {
    let error: ImageError

    func answer(_ rows: [Row]) async -> [RowResult?] { rows.map { _ in nil } }
    func run(_ row: Row) async -> RowResult { .failure(RowError(error), attempts: 1) }
    func identity(of row: Row) -> RowIdentity? { nil }
}

/// Rows that are stored as another process would store them.
private struct StoringRunner: RowRunner {
    let fixture: ServerFixture
    let partition: String?

    func answer(_ rows: [Row]) async -> [RowResult?] { rows.map { _ in nil } }
    func run(_ row: Row) async -> RowResult {
        _ = try? fixture.store(row.url, [1, 2, 3], isPrivate: partition != nil, partition: partition)
        return RowResult(outcome: .success(.network), tail: [])
    }
    func identity(of row: Row) -> RowIdentity? { nil }
}

@Suite struct ReadThroughTests {
    private let time = ManualTime()
    private let fixture: ServerFixture
    private let target = "/image?url=https%3A%2F%2Fexample.com%2Fa.png"

    init() throws { fixture = try ServerFixture(time: time) }

    @Test func whatIsMissingIsFetchedAndWhatIsFreshIsNot() async throws {
        let stub = StubReadThrough(fixture) { .entry(try $0.storePicture($1.string)) }
        let server = fixture.server(readThrough: stub)
        let answer = await server.answer(target)
        #expect(answer.status == 200)
        #expect(answer.code == "fetched")
        #expect(await server.answer(target).code == "hit")
        #expect(await server.answer(target + "&w=8").status == 200)
        #expect(stub.calls.withLock { $0 } == ["https://example.com/a.png"])
        time.advance(seconds: 4000)
        #expect(await server.answer(target).status == 200)
        #expect(stub.calls.withLock { $0.count } == 2)
    }

    @Test func aFailureIsPassedOn() async throws {
        let stub = StubReadThrough(fixture) { _, _ in throw ImageError.httpStatus(404, .init()) }
        let answer = await fixture.server(readThrough: stub).answer(target)
        #expect(answer.status == 502)
        #expect(answer.text.contains("\"code\":\"http_status\""))
    }

    @Test(arguments: [
        (ImageError.unreachable(.init("refused")), 504), (.timedOut(.total, .init()), 504),
        (.malformed("no status line"), 502), (.truncated(.init()), 502), (.httpStatus(503, .init()), 502),
    ]) func whoeverIsCutOffFromAServerSaysSo(fault: ImageError, status: Int) async throws {
        let stub = StubReadThrough(fixture) { _, _ in throw fault }
        let rows = RowReadThrough(
            runner: FailingRunner(error: fault), tier: fixture.tier, limits: .init(total: 1, perHost: 1))
        for readThrough in [stub, rows] as [any ReadThrough] {
            let answer = await fixture.server(readThrough: readThrough).answer(target)
            #expect(answer.status == status)
            #expect(answer.text.contains("\"code\":\"\(fault.code)\""))
        }
    }

    /// With credentials rows are stored in a partition of their own.
    @Test(arguments: [[:], ["Authorization": "Bearer x"]] as [HTTPFields])
    func whatARowHasStoredIsFound(fields: HTTPFields) async throws {
        let rows = RowReadThrough(
            runner: StoringRunner(fixture: fixture, partition: Credentials.partition(fields)), tier: fixture.tier,
            limits: .init(total: 1, perHost: 1), fields: fields)
        guard case .entry(let entry) = try await rows.fetch(NormalizedURL("https://example.com/a.png")) else {
            Issue.record("it is in no entry")
            return
        }
        #expect(try entry.payload() == [1, 2, 3])
        #expect(await fixture.server(readThrough: rows).answer(target).status == (fields.fields.isEmpty ? 200 : 403))
    }

    @Test func whatWasFetchedForOneIsNotGivenToAll() async throws {
        let stub = StubReadThrough(fixture) { .entry(try $0.store($1.string, [1, 2, 3], isPrivate: true)) }
        #expect(await fixture.server(readThrough: stub).answer(target).status == 403)
    }
}

/// The server over the real HTTP cache and a real origin.
@Suite struct FetcherReadThroughTests {
    private let fixture: ServerFixture
    private let origin: Origin

    init() throws {
        fixture = try ServerFixture()
        origin = try Origin()
    }

    private func server() throws -> ImageServer {
        let fetcher = CachingFetcher(
            client: HTTPClient(transport: URLSessionTransport(), time: fixture.time), disk: fixture.tier,
            executor: BlockingExecutor(name: "test", width: 2), time: fixture.time)
        return fixture.server(readThrough: try FetcherReadThrough(fetcher: fetcher))
    }

    private func picture() throws -> [UInt8] {
        try ImageEncoder.png(
            try Bitmap(width: 8, height: 8, hasAlpha: false) { pixels, _ in
                for index in pixels.indices { pixels[index] = 255 }
            })
    }

    /// A thousand clients that want the same cold image make one request.
    @Test func aColdImageIsFetchedOnceForAThousand() async throws {
        let bytes = try picture()
        origin.on("/a.png", .ok(bytes, [("Cache-Control", "max-age=60")]))
        let server = try server()
        let target = "/image?url=" + origin.url("/a.png").absoluteString
        let answers = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<1000 {
                group.addTask {
                    let answer = await server.answer(target)
                    return answer.status == 200 && answer.bytes == bytes
                }
            }
            return await group.reduce(into: [Bool: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(answers == [true: 1000])
        #expect(origin.requests.count == 1)
        #expect(await server.answer(target).code == "hit")
    }

    @Test func whatMayNotBeStoredIsPassedOnOnly() async throws {
        origin.on("/a.png", .ok(try picture(), [("Cache-Control", "no-store")]))
        let server = try server()
        let target = "/image?url=" + origin.url("/a.png").absoluteString
        let answer = await server.answer(target)
        #expect(answer.status == 200)
        #expect(answer.fields["Cache-Control"] == "no-store")
        #expect(await server.answer(target + "&w=4").status == 422)
        #expect(origin.requests.count == 3 || origin.requests.count == 2)
    }

    @Test func whatTheOriginLacksIsNotThere() async throws {
        let answer = await (try server()).answer("/image?url=" + origin.url("/none.png").absoluteString)
        #expect(answer.status == 502)
        #expect(answer.text.contains("http_status"))
    }
}

/// What RFC 5861 lets a cache do with stale images, seen by the server's clients.
@Suite struct StaleReadThroughTests {
    private let time = ManualTime()
    private let fixture: ServerFixture
    private let target = "/image?url=http://example.com/a.png"

    init() throws { fixture = try ServerFixture(time: time) }

    private func server(_ transport: ScriptedTransport) throws -> ImageServer {
        var configuration = FetcherConfiguration()
        configuration.retries = .none
        let fetcher = CachingFetcher(
            client: HTTPClient(transport: transport, time: time), disk: fixture.tier,
            executor: BlockingExecutor(name: "test", width: 2), configuration: configuration, time: time)
        return fixture.server(readThrough: try FetcherReadThrough(fetcher: fetcher))
    }

    @Test func aStaleImageIsGivenWhileItsServerIsAsked() async throws {
        let valve = ScriptedTransport.Valve()
        let (old, new) = (SampleImage.png(300), SampleImage.png(400))
        let fields: HTTPFields = ["Cache-Control": "max-age=10, stale-while-revalidate=60"]
        let transport = ScriptedTransport { _, number in
            number == 1 ? .ok(old, fields) : .ok(new, fields).headHeld(by: valve)
        }
        let server = try server(transport)
        #expect(await server.answer(target).code == "fetched")
        time.advance(seconds: 20)
        let answer = await server.answer(target)
        #expect(answer.bytes == old && answer.code == "stale")
        await transport.requests(atLeast: 2)
        // Now: a request under way while the new image arrives is answered with what was fetched.
        #expect(await server.answer("/metrics").text.contains("larder_images_total{source=\"fetched\"} 1\n"))
        valve.open()
        // The new image takes the old one's place behind the clients' backs.
        try await eventually("the new image") { await server.answer(target).bytes == new }
        #expect(await server.answer(target).code == "hit")
        #expect(transport.requests.count == 2)
    }

    @Test func aStaleImageIsGivenWhereItsServerFails() async throws {
        let old = SampleImage.png(300)
        let transport = ScriptedTransport { _, number in
            number == 1 ? .ok(old, ["Cache-Control": "max-age=10, stale-if-error=60"]) : .status(503)
        }
        let server = try server(transport)
        #expect(await server.answer(target).status == 200)
        time.advance(seconds: 20)
        let answer = await server.answer(target)
        #expect(answer.bytes == old && answer.code == "stale")
        #expect(answer.fields["Cache-Control"]?.contains("max-age=0") == true)
        time.advance(seconds: 100)
        #expect(await server.answer(target).status == 502)
    }

    @Test func aConfirmedImageIsFreshAgain() async throws {
        let old = SampleImage.png(300)
        let transport = ScriptedTransport { request, _ in
            let fields: HTTPFields = ["Cache-Control": "max-age=10", "ETag": "\"a\""]
            return request.fields["If-None-Match"] == "\"a\"" ? .status(304, fields) : .ok(old, fields)
        }
        let server = try server(transport)
        #expect(await server.answer(target).status == 200)
        time.advance(seconds: 20)
        #expect(await server.answer(target).bytes == old)
        #expect(transport.requests.count == 2)
        #expect(await server.answer(target).code == "hit")
        #expect(transport.requests.count == 2)
    }
}
