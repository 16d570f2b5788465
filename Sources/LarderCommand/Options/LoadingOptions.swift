import Larder

/// Options of every command that loads images through the cache, and what was chosen.
struct LoadingOptions: Sendable {
    static let table: [Option] =
        [
            .value("retry", "N", "tries of an image after the first", default: "3", common: true),
            .value("retry-delay", "S", "before the first retry; doubled each time, with jitter", default: "0.5"),
            .flag("refresh", "fetch anew what is in the cache"),
            .flag("offline", "never use the network; what is missing fails as not_cached", common: true),
            .value("limit-rate", "BYTES", "a second, of all transfers together"),
            .value("host-rate", "N", "requests a second that begin to one host; 0.5 is one in two seconds"),
            .flag("robots", "keep to robots.txt"),
            .flag("respect-robots-tag", "refuse what X-Robots-Tag: noai or noimageai forbids"),
            .value("max-size", "BYTES", "of the cache directory", default: "2G"),
            .value("max-age", "TIME", "of an image in the cache"),
        ] + ConnectionOptions.table

    var connection: ConnectionOptions
    var retries = 3
    var retryDelay = 0.5
    var bytesPerSecond: Int?
    var requestsPerSecond: Double?
    var keepsRobots = false
    var keepsRobotsTag = false
    var policy = CachePolicy.http
    var maxCacheBytes: Int?
    var maxCacheAge: Double?

    init(_ arguments: Arguments) throws(UsageError) {
        connection = try ConnectionOptions(arguments)
        retries = try arguments.integer("retry", in: 0...100) ?? retries
        retryDelay = try arguments.duration("retry-delay") ?? retryDelay
        let isOffline = try arguments.flag("offline")
        let refreshes = try arguments.flag("refresh")
        if isOffline, refreshes { throw UsageError("--offline and --refresh cannot both be") }
        policy = isOffline ? .offlineOnly() : refreshes ? .reload : .http
        bytesPerSecond = try arguments.bytes("limit-rate")
        if bytesPerSecond == 0 { throw UsageError("--limit-rate must be more than 0") }
        requestsPerSecond = try arguments.number("host-rate", in: 0.001...1_000_000)
        keepsRobots = try arguments.flag("robots")
        keepsRobotsTag = try arguments.flag("respect-robots-tag")
        maxCacheBytes = try arguments.bytes("max-size")
        maxCacheAge = try arguments.duration("max-age")
    }

    /// The options of one of several workers: each has its share of the rates; what one does not use is not another's.
    func share(of words: [String], amongWorkers count: Int) -> [String] {
        var words = words.filter { !$0.hasPrefix("--limit-rate=") && !$0.hasPrefix("--host-rate=") }
        if let rate = bytesPerSecond { words.append("--limit-rate=\(max(1, rate / count))") }
        if let rate = requestsPerSecond { words.append("--host-rate=\(max(0.001, rate / Double(count)))") }
        return words
    }
}
