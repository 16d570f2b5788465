/// Gives a host that keeps failing a rest, so that it neither is hammered nor holds the others up.
///
/// After `threshold` failures in a row the host is not asked for `rest` seconds; then one request tries it, while the
/// others go on being refused. If that fails too, the rest doubles, up to `maxRest`; any answer ends it. Only hosts
/// that fail take memory, at most `maxHosts` of them. Safe from any thread.
package final class CircuitBreaker: Sendable {
    package struct Options: Sendable, Hashable {
        /// 0 turns it off.
        package var threshold = 8
        /// Seconds.
        package var rest = 5.0
        package var maxRest = 300.0
        package var maxHosts = 1024
        package init() {}
    }

    private struct Host {
        var failures = 0
        /// When it may be tried again; nil while it is asked as usual.
        var restsUntil: UInt64?
        var rest = 0.0
        var isTried = false
        var touched: UInt64
    }

    private let options: Options
    private let time: any TimeSource
    private let hosts = Lock<[String: Host]>([:])

    package init(options: Options = .init(), time: any TimeSource = SystemTime()) {
        self.options = options
        self.time = time
    }

    /// How many hosts are remembered, for tests and metrics.
    package var count: Int { hosts.withLock { $0.count } }

    /// Asks for leave to send a request. Whoever gets it must report with ``succeeded(_:)``, ``failed(_:_:)`` or
    /// ``gaveUp(_:)``.
    ///
    /// - Throws: ``ImageError/unreachable(_:)`` with the seconds that the rest still takes, while the host rests.
    package func check(_ host: String) throws(ImageError) {
        let now = time.monotonic
        let remaining = hosts.withLock { hosts -> Double? in
            guard let state = hosts[host], let until = state.restsUntil else { return nil }
            if now >= until, !state.isTried {
                hosts[host]?.isTried = true
                return nil
            }
            return until > now ? Double(until - now) / 1e9 : 0
        }
        guard let remaining else { return }
        throw .unreachable(
            .init("\(host) has failed again and again and is given a rest", retryAfter: remaining, isTransient: true))
    }

    /// The host has answered, whatever it said.
    package func succeeded(_ host: String) {
        hosts.withLock { hosts in if !hosts.isEmpty { hosts[host] = nil } }
    }

    /// The attempt ended without telling anything of the host, such as by cancellation.
    package func gaveUp(_ host: String) {
        hosts.withLock { hosts in if hosts[host] != nil { hosts[host]?.isTried = false } }
    }

    /// The attempt failed. Only what is the host's fault counts: see ``isFaultOfHost(_:)``.
    package func failed(_ host: String, _ error: ImageError) {
        guard options.threshold > 0 else { return }
        guard Self.isFaultOfHost(error) else {
            if Self.isAnswer(error) { succeeded(host) } else { gaveUp(host) }
            return
        }
        let now = time.monotonic
        hosts.withLock { hosts in
            var state = hosts[host] ?? Host(touched: now)
            state.failures += 1
            state.touched = now
            let wasTried = state.isTried
            state.isTried = false
            // Of many that were under way together only the first begins the rest.
            if wasTried || (state.restsUntil == nil && state.failures >= options.threshold) {
                state.rest = min(max(state.rest * 2, options.rest), options.maxRest)
                state.restsUntil = now &+ UInt64(max(0, min(state.rest, 1e9)) * 1e9)
            }
            hosts[host] = state
            guard hosts.count > options.maxHosts else { return }
            let oldest = hosts.sorted { $0.value.touched < $1.value.touched }.prefix(max(1, options.maxHosts / 8))
            for (host, _) in oldest { hosts[host] = nil }
        }
    }

    /// Whether the error speaks of something that the host has sent.
    private static func isAnswer(_ error: ImageError) -> Bool {
        switch error {
        case .cancelled, .timedOut, .cacheUnavailable, .notCached, .invalidURL: false
        case .refused(let reason, _): reason == .filter
        default: true
        }
    }

    /// No connection, no answer in time, or an answer that says that the server behind is down.
    package static func isFaultOfHost(_ error: ImageError) -> Bool {
        switch error {
        case .unreachable, .timedOut(.connect, _), .timedOut(.idle, _): true
        case .httpStatus(let status, _): [502, 503, 504].contains(status)
        default: false
        }
    }
}
