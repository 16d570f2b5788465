import Foundation
import Larder
import LarderWorkers

/// Reads through by rows, which worker processes run: one that dies costs one image, never the server.
package final class RowReadThrough: ReadThrough {
    private let runner: any RowRunner
    private let tier: DiskTier
    private let partition: String?
    private let files: BlockingExecutor
    private let hosts: HostLimiter
    private let flights = Coalescer<String, RowResult>()

    /// - Parameters:
    ///   - runner: commits to the directory of `tier`.
    ///   - limits: of rows under way, in all and to one host.
    ///   - fields: that the runner sends with each: where credentials are among them, images are kept for them alone.
    package init(
        runner: any RowRunner, tier: DiskTier, limits: HostLimiter.Limits, fields: HTTPFields = .init(),
        time: any TimeSource = SystemTime()
    ) {
        self.runner = runner
        self.tier = tier
        partition = Credentials.partition(fields)
        files = BlockingExecutor(name: "larder-read-through", width: 2)
        hosts = HostLimiter(limits: limits, time: time)
    }

    package func fetch(_ url: NormalizedURL) async throws(Problem) -> FetchedImage {
        let row = Row(number: 1, url: url.string)
        let result: RowResult
        let entry: StoredEntry?
        do throws(ImageError) {
            let ticket = flights.join(url.string, priority: .high) { [runner, hosts] priority throws(ImageError) in
                try await hosts.run(url.host, priority: priority) { await runner.run(row) }
            }
            result = try await flights.wait(ticket)
            let key = CacheKey(url: url.string, partition: partition)
            entry = try await files.run { [tier] () throws(ImageError) in tier.entry(for: key) }
        } catch {
            throw Problem(error)
        }
        if let code = result.code { throw Self.problem(code, result.tail) }
        guard let entry else {
            throw Problem(
                422, "not_storable",
                "The image came and was not kept: its server forbids that, or the cache has no room for it.")
        }
        return .entry(entry)
    }

    /// The failure of a row, as HTTP puts it.
    static func problem(_ code: String, _ tail: [UInt8]) -> Problem {
        struct Line: Decodable {
            struct Failure: Decodable {
                var message: String?
                var malformed: Bool?
            }
            var error: Failure?
        }
        let line = try? JSONDecoder().decode(Line.self, from: Data([UInt8(ascii: "{")] + tail + [UInt8(ascii: "}")]))
        let status =
            switch code {
            case "invalid_url", "bad_row": 400
            case "refused", "filtered": 403
            case "not_cached": 404
            case "too_large": 413
            case "not_an_image", "unsupported_format", "corrupt": 422
            case "cache_unavailable", "cancelled": 503
            case "timed_out": 504
            case "unreachable": line?.error?.malformed == true ? 502 : 504
            default: 502
            }
        let fields: HTTPFields = status == 503 ? ["Retry-After": "1"] : [:]
        return Problem(status, code, line?.error?.message ?? "The image could not be fetched.", fields: fields)
    }
}
