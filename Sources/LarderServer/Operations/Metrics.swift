import Larder

/// What `/metrics` tells. One short lock an observation; safe from any thread.
package final class Metrics: Sendable {
    /// Where an image came from.
    package enum Source: Int, Sendable, CaseIterable {
        case hit, stale, miss, fetched
        /// A thumbnail that had to be made.
        case made

        /// What an answer's code tells; misses and fetches are counted where they happen.
        package init?(answerCode: String) {
            switch answerCode {
            case "hit": self = .hit
            case "stale": self = .stale
            case "made": self = .made
            default: return nil
            }
        }
    }

    private struct State {
        // By the place of the route among all, and the status: this is counted for each request.
        var requests = [UInt64](repeating: 0, count: Route.Name.allCases.count * Metrics.statuses)
        var latencies = [Histogram](repeating: .init(), count: Route.Name.allCases.count)
        var bytes: UInt64 = 0
        var sources = [UInt64](repeating: 0, count: Source.allCases.count)
        var thumbnails = Histogram()
        var decodes: UInt64 = 0
        var verifications: UInt64 = 0
        var damaged: UInt64 = 0
        var connections = 0
        var rejected: UInt64 = 0
    }

    private static let statuses = 600
    private let state = Lock(State())

    package init() {}

    package func request(route: Route.Name, status: Int, bytes: Int, seconds: Double, source: Source? = nil) {
        let place = route.place
        state.withLock { state in
            state.requests[place * Self.statuses + min(max(0, status), Self.statuses - 1)] += 1
            state.latencies[place].observe(seconds)
            state.bytes &+= UInt64(max(0, bytes))
            if let source { state.sources[source.rawValue] += 1 }
        }
    }

    package func image(_ source: Source) { state.withLock { $0.sources[source.rawValue] += 1 } }
    package func thumbnail(seconds: Double) { state.withLock { $0.thumbnails.observe(seconds) } }
    package func decode() { state.withLock { $0.decodes += 1 } }
    package func verified(isWhole: Bool) {
        state.withLock { state in
            state.verifications += 1
            if !isWhole { state.damaged += 1 }
        }
    }
    package func connection(opened: Bool) { state.withLock { $0.connections += opened ? 1 : -1 } }
    package func rejectedConnection() { state.withLock { $0.rejected += 1 } }

    /// What is measured only when somebody looks.
    package struct Gauges: Sendable {
        package var entries: Int64?
        package var diskBytes: Int64?
        package var diskLimit: Int64?
        package var waiting = 0
        package var running = 0
        package init() {}
    }

    /// Prometheus' text format, version 0.0.4.
    package func text(_ gauges: Gauges) -> [UInt8] {
        let state = state.withLock { $0 }
        var text = ""
        func family(_ name: String, _ type: String, _ help: String, _ lines: [(labels: String, value: String)]) {
            text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
            for line in lines { text += name + (line.labels.isEmpty ? "" : "{\(line.labels)}") + " \(line.value)\n" }
        }
        family(
            "larder_http_requests_total", "counter", "Requests answered.",
            state.requests.enumerated().filter { $0.element > 0 }.map { place, count in
                let route = Route.Name.allCases[place / Self.statuses]
                return ("route=\"\(route)\",status=\"\(place % Self.statuses)\"", "\(count)")
            })
        text += "# HELP larder_http_request_duration_seconds From the end of the header to the queued answer.\n"
        text += "# TYPE larder_http_request_duration_seconds histogram\n"
        for (route, histogram) in zip(Route.Name.allCases, state.latencies) where histogram.count > 0 {
            text += histogram.lines("larder_http_request_duration_seconds", labels: "route=\"\(route)\"")
        }
        family("larder_http_sent_bytes_total", "counter", "Bytes of bodies.", [("", "\(state.bytes)")])
        family(
            "larder_images_total", "counter", "Images by where they came from.",
            Source.allCases.map { ("source=\"\($0)\"", "\(state.sources[$0.rawValue])") })
        text += "# HELP larder_thumbnail_duration_seconds Time to make and store a thumbnail.\n"
        text += "# TYPE larder_thumbnail_duration_seconds histogram\n"
        text += state.thumbnails.lines("larder_thumbnail_duration_seconds", labels: "")
        family(
            "larder_thumbnail_decodes_total", "counter", "Decodes that thumbnails were made from; several share one.",
            [("", "\(state.decodes)")])
        family(
            "larder_verified_entries_total", "counter", "Entries whose bytes were checked before they were served.",
            [("", "\(state.verifications)")])
        family(
            "larder_damaged_entries_total", "counter", "Entries set aside because their bytes were damaged.",
            [("", "\(state.damaged)")])
        family("larder_connections", "gauge", "Open connections.", [("", "\(state.connections)")])
        family(
            "larder_slow_connections_total", "counter", "Connections ended because their header took too long.",
            [("", "\(state.rejected)")])
        family("larder_queue_waiting", "gauge", "Work that waits for a thread.", [("", "\(gauges.waiting)")])
        family("larder_queue_running", "gauge", "Work in hand.", [("", "\(gauges.running)")])
        if let entries = gauges.entries {
            family("larder_cache_entries", "gauge", "Entries in the cache directory.", [("", "\(entries)")])
        }
        if let bytes = gauges.diskBytes {
            family("larder_cache_bytes", "gauge", "Bytes that entries take on disk.", [("", "\(bytes)")])
        }
        if let limit = gauges.diskLimit {
            family("larder_cache_limit_bytes", "gauge", "Bytes that entries may take.", [("", "\(limit)")])
        }
        return Array(text.utf8)
    }
}

extension Route.Name {
    /// Among all cases.
    fileprivate var place: Int {
        switch self {
        case .entries: 0
        case .file: 1
        case .gallery: 2
        case .health: 3
        case .image: 4
        case .login: 5
        case .metrics: 6
        case .none: 7
        case .stats: 8
        case .thumbnail: 9
        }
    }
}
