import Foundation
import TestSupport
import Testing

@testable import Larder

/// Every case of the hostile web over every transport, through the cache: the right code, in time, and nothing left
/// behind; what was stored before is still there and good.
@Suite(.timeLimit(.minutes(2))) struct HostileWebTests {
    /// One after the other: many sessions at once in one process leave each other no processor.
    @Test(.serialized, arguments: HostileCase.all.filter { !$0.endsURLSession })
    func overURLSession(_ hostile: HostileCase) async throws {
        try await check(hostile, over: URLSessionTransport(configuration: .init(transfersAtOnce: 4, stallTimeout: 4)))
    }

    /// Documented, not hidden: these end the process of whoever uses URLSession of Swift 6.3. Once this test fails,
    /// the fault has gone and the cases belong above.
    @Test(arguments: HostileCase.all.filter(\.endsURLSession))
    func endsAProcessOverURLSession(_ hostile: HostileCase) async throws {
        await #expect(processExitsWith: .failure) { [name = hostile.name as String] in
            guard let hostile = HostileCase.all.first(where: { $0.name == name }) else { return }
            let origin = try Origin()
            hostile.prepare(origin)
            _ = try? await load(origin.url("/image"), over: URLSessionTransport())
        }
    }

    #if Curl
        @Test(.serialized, arguments: HostileCase.all)
        func overCurl(_ hostile: HostileCase) async throws {
            try await check(hostile, over: CurlTransport(configuration: .init(proxy: .none)))
        }
    #endif

    /// A gateway answers 502 to the one and 504 to the other.
    @Test(arguments: TransportKind.network) func nonsenseIsToldFromNoAnswer(_ kind: TransportKind) async throws {
        let transport = try #require(kind.make())
        for (name, isMalformed) in [
            ("another protocol", true), ("two different lengths", true), ("a status of one digit", true),
            ("connection refused", false), ("closed before the head", false), ("reset before the head", false),
        ] {
            let hostile = try #require(HostileCase.all.first { $0.name == name })
            let origin = try Origin()
            hostile.prepare(origin)
            do throws(ImageError) {
                _ = try await load(origin.url("/image"), over: transport)
                Issue.record("\(name): an image")
            } catch {
                #expect(error.details.isMalformed == isMalformed, "\(name): \(error.details.detail)")
            }
        }
    }

    private func check(_ hostile: HostileCase, over make: @autoclosure () -> any Transport) async throws {
        let origin = try Origin()
        hostile.prepare(origin)
        try await fetch(hostile, from: origin, over: make())
        // The transport has been released: whatever it still had open is a leak.
        if origin.connections > 0 { await origin.allConnectionsClosed() }
    }

    private func fetch(_ hostile: HostileCase, from origin: Origin, over transport: any Transport) async throws {
        let directory = TemporaryDirectory()
        let disk = try DiskTier(directory: directory.path)
        var configuration = FetcherConfiguration()
        configuration.retries = .none
        let fetcher = CachingFetcher(
            client: HTTPClient(transport: transport), disk: disk, executor: BlockingExecutor(name: "disk", width: 1),
            configuration: configuration)
        let request = FetchRequest(
            url: try NormalizedURL(origin.url("/image")), policy: .reload, maxBytes: HostileCase.maxBytes,
            deadlines: hostile.deadlines(over: transport.name))
        let older = SampleImage.png(300)
        try store(older, request.key, disk)

        var detail = ""
        var outcome = HostileCase.Outcome.image
        var stored = older
        do throws(ImageError) {
            stored = try await fetcher.fetch(request).readPayload()
            #expect(stored.starts(with: HostileCase.image))
        } catch {
            outcome = .failure(error.code)
            detail = error.details.detail
            #expect(error.url?.contains("secret") == false)
        }
        #expect(outcome == hostile.outcome(over: transport.name), "\(detail)")
        #expect(try disk.entry(for: request.key)?.payload() == stored)
        #expect(directory.files(under: "tmp").isEmpty)
        #expect(
            directory.files().filter { $0.wholeMatch(of: /[0-9a-f]{2}\/[0-9a-f]{30}/) != nil } == [request.key.file])
    }

    private func store(_ bytes: [UInt8], _ key: CacheKey, _ disk: DiskTier) throws {
        let writer = try disk.begin(key)
        try bytes.withRawBytes { (bytes) throws(ImageError) in try writer.append(bytes) }
        let now = SystemTime().now
        _ = try writer.commit(
            EntryMetadata(
                key: key, finalURL: key.url, status: 200, requestTime: now, responseTime: now,
                freshness: StoredFreshness(freshUntil: now.adding(seconds: 60))))
    }
}

/// What stands above a transport in the engine, without retries and cache.
func load(
    _ url: URL, over transport: any Transport, deadlines: Deadlines = .init()
) async throws(ImageError) -> [UInt8] {
    let client = HTTPClient(transport: transport)
    let response = try await client.open(.init(url: url, deadlines: deadlines))
    do throws(ImageError) {
        var validator = try ResponseValidator(
            status: response.status, fields: response.fields, maxBytes: HostileCase.maxBytes, inspector: PNGEnds())
        var bytes: [UInt8] = []
        while let chunk = try await response.body.next() {
            try validator.receive(chunk)
            bytes += chunk
        }
        try validator.finish()
        return bytes
    } catch {
        response.body.cancel()
        throw error.at(response.url)
    }
}

/// Sees whether a body begins as a PNG does and contains its end: what the header parser and the decoder are in the
/// engine.
struct PNGEnds: BodyInspector {
    private var bytes: [UInt8] = []

    mutating func receive(_ chunk: UnsafeRawBufferPointer) throws(ImageError) {
        bytes.append(contentsOf: chunk)
        guard bytes.prefix(8).elementsEqual(HostileCase.image.prefix(min(8, bytes.count))) else {
            throw .notAnImage(.init("no PNG"))
        }
    }

    mutating func finish() throws(ImageError) {
        guard bytes.count >= HostileCase.image.count else { throw .truncated(.init("no end")) }
    }
}
