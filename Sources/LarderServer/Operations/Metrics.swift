import Larder

/// What `/metrics` tells. One short lock an observation; safe from any thread.
package final class Metrics: Sendable {
    /// Where an image came from.
    package enum Source: String, Sendable, CaseIterable {
        case hit, stale, miss, fetched
        /// A thumbnail that had to be made.
        case made
    }

    private struct State {
        var requests: [RequestKey: UInt64] = [:]
        var latencies: [String: Histogram] = [:]
        var bytes: UInt64 = 0
        var sources: [Source: UInt64] = [:]
        var thumbnails = Histogram()
        var verifications: UInt64 = 0
        var damaged: UInt64 = 0
        var connections = 0
        var rejected: UInt64 = 0
    }

    private struct RequestKey: Hashable {
        var route: String
        var status: Int
    }

    private let state = Lock(State())

    package init() {}

    package func request(route: String, status: Int, bytes: Int, seconds: Double) {
        state.withLock { state in
            state.requests[RequestKey(route: route, status: status), default: 0] += 1
            state.latencies[route, default: Histogram()].observe(seconds)
            state.bytes &+= UInt64(max(0, bytes))
        }
    }

    package func image(_ source: Source) { state.withLock { $0.sources[source, default: 0] += 1 } }
    package func thumbnail(seconds: Double) { state.withLock { $0.thumbnails.observe(seconds) } }
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
            state.requests.sorted { ($0.key.route, $0.key.status) < ($1.key.route, $1.key.status) }
                .map { ("route=\"\($0.key.route)\",status=\"\($0.key.status)\"", "\($0.value)") })
        text += "# HELP larder_http_request_duration_seconds From the end of the header to the queued answer.\n"
        text += "# TYPE larder_http_request_duration_seconds histogram\n"
        for (route, histogram) in state.latencies.sorted(by: { $0.key < $1.key }) {
            text += histogram.lines("larder_http_request_duration_seconds", labels: "route=\"\(route)\"")
        }
        family("larder_http_sent_bytes_total", "counter", "Bytes of bodies.", [("", "\(state.bytes)")])
        family(
            "larder_images_total", "counter", "Images by where they came from.",
            Source.allCases.map { ("source=\"\($0.rawValue)\"", "\(state.sources[$0] ?? 0)") })
        text += "# HELP larder_thumbnail_duration_seconds Time to make and store a thumbnail.\n"
        text += "# TYPE larder_thumbnail_duration_seconds histogram\n"
        text += state.thumbnails.lines("larder_thumbnail_duration_seconds", labels: "")
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
