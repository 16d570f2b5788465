import Larder
import LarderServer

extension Command {
    static let relay = Command(
        name: "relay", summary: "answers any request through the cache, for test suites of HTTP caches",
        options: [
            .value("upstream", "URL", "the origin that everything is asked of"),
            .value("port", "N", "the port on 127.0.0.1; 0 lets the system choose", default: "0"),
            .value(
                "transport", "NAME", "what fetches: urlsession or curl", default: "urlsession",
                choices: ["urlsession", "curl"]),
        ],
        isHidden: true,
        run: { arguments, console in
            guard let upstream = try arguments.string("upstream") else {
                throw UsageError(
                    "--upstream is missing", hint: "larder relay --upstream http://127.0.0.1:8000 --port 8080")
            }
            guard let port = try arguments.string("port").flatMap({ Int($0) }), (0...65_535).contains(port) else {
                throw UsageError("--port takes a number from 0 to 65535")
            }
            do {
                let transport = try relayTransport(arguments.string("transport") ?? "urlsession")
                var redirects = RedirectPolicy()
                redirects.handsOn = true
                var configuration = FetcherConfiguration()
                configuration.freshness = .strict
                configuration.retries = .none
                configuration.breaker.threshold = 0
                configuration.limits = HostLimiter.Limits(total: 256, perHost: 256)
                let fetcher = CachingFetcher(
                    client: HTTPClient(transport: transport, redirects: redirects),
                    disk: try DiskTier(directory: arguments.string("cache") ?? "./cache"),
                    executor: BlockingExecutor(name: "disk", width: 4), configuration: configuration)
                let listener = try RelayListener(
                    relay: Relay(upstream: NormalizedURL(upstream), fetcher: fetcher), port: port)
                console.note("relay on http://127.0.0.1:\(listener.port)")
                while true { try await Task.sleep(nanoseconds: 3_600_000_000_000) }
            } catch let error as ImageError {
                throw CommandFailure("\(error.code): \(error.details.detail)")
            }
        })

    private static func relayTransport(_ name: String) throws -> any Transport {
        if name == "curl" {
            #if Curl
                return CurlTransport()
            #else
                throw CommandFailure("this build has no curl transport", hint: "swift build --traits Curl")
            #endif
        }
        return URLSessionTransport()
    }
}
