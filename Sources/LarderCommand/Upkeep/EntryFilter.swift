import Larder

/// Options that choose entries of a cache directory.
enum EntryFilter {
    static let table: [Option] = [
        .value("search", "TEXT", "only URLs that contain this", common: true),
        .value(
            "format", "NAME", "only images of this format", choices: ImageFormat.allCases.map(\.rawValue) + ["jpg"],
            common: true),
        .value("state", "NAME", "only fresh or stale ones", choices: ["fresh", "stale"], common: true),
    ]

    /// Narrows a query as the options say.
    static func apply(_ arguments: Arguments, to query: inout EntryQuery, now: Timestamp) throws(UsageError) {
        query.search = try arguments.string("search")
        query.format = try arguments.string("format").flatMap { ImageFormat(rawValue: $0 == "jpg" ? "jpeg" : $0) }
        switch try arguments.string("state") {
        case "fresh": query.freshness = .fresh(at: now)
        case "stale": query.freshness = .stale(at: now)
        default: break
        }
    }
}
