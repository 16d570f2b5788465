import Foundation
import TestSupport

@testable import Larder

/// A fetcher over a scripted transport, by whatever carries its answers, a disk tier of its own and a clock that the test
/// turns.
struct CachingFetcherFixture {
    let directory = TemporaryDirectory()
    let time = ManualTime()
    let transport: ScriptedTransport
    let disk: DiskTier?
    let fetcher: CachingFetcher
    let events = EventLog()

    static let png = SampleImage.png(200)

    init(
        over kind: TransportKind = .scripted, hasDisk: Bool = true, configuration: FetcherConfiguration = .init(),
        time: ManualTime? = nil, random: Double = 0, script: @escaping ScriptedTransport.Script
    ) throws {
        transport = ScriptedTransport(over: kind, script)
        let time = time ?? self.time
        disk = hasDisk ? try DiskTier(directory: directory.path, time: time) : nil
        var configuration = configuration
        let events = self.events
        configuration.observer = { event, _ in events.add(event) }
        fetcher = CachingFetcher(
            client: HTTPClient(transport: transport, time: time), disk: disk,
            executor: BlockingExecutor(name: "disk", width: 2), configuration: configuration, time: time,
            random: { random })
    }

    func request(_ path: String = "/a.png", policy: CachePolicy = .http, fields: HTTPFields = [:]) throws
        -> FetchRequest
    {
        // Sleeps that turn the clock themselves would soon reach the usual deadline.
        FetchRequest(
            url: try NormalizedURL("http://example.com" + path), policy: policy, fields: fields,
            deadlines: Deadlines(total: 1e7))
    }

    func fetch(
        _ path: String = "/a.png", policy: CachePolicy = .http, fields: HTTPFields = [:]
    ) async throws -> FetchResult {
        try await fetcher.fetch(request(path, policy: policy, fields: fields))
    }

    func error(
        _ path: String = "/a.png", policy: CachePolicy = .http, fields: HTTPFields = [:]
    ) async -> ImageError? {
        do {
            _ = try await fetch(path, policy: policy, fields: fields)
            return nil
        } catch { return error as? ImageError }
    }

    /// Files that are neither entries nor the directory's own.
    var temporaryFiles: [String] { directory.files(under: "tmp") }

    /// What happened, in order.
    final class EventLog: Sendable {
        private let list = Lock<[String]>([])
        func add(_ event: FetchEvent) {
            let text = String(describing: event)
            list.withLock { $0.append(String(text.prefix { $0 != "(" })) }
        }
        var names: [String] { list.withLock { $0 } }
    }
}

extension Timestamp {
    /// As a header field has it.
    var httpDate: String { HTTPDate.format(self) }
}
