import Foundation
import FoundationNetworking

/// The network through Foundation's URLSession: the default transport, without a dependency.
///
/// On Linux, URLSession (swift-corelibs-foundation, 6.3.1) has faults that this type works around; what cannot be
/// worked around is in `Documentation/decisions/urlsession-faults.md`. In short: a server that closes the
/// connection in the middle of the headers ends the process (mended in Swift 6.4). Where that must not happen, fetch
/// in worker processes or through `CurlTransport`.
///
/// - At most four transfers run at once in one process, over all transports with the default configuration; the
///   rest wait in order. More make URLSession stall, and it is no faster with more.
/// - Nothing is cached, no cookie is kept, no credential is looked up, no redirect is followed.
/// - ``AddressPolicy/publicOnly`` is checked by looking the name up before the transfer. URLSession looks it up once
///   more, so a name server that answers differently the second time is not stopped.
public final class URLSessionTransport: Transport {
    /// How a ``URLSessionTransport`` works.
    public struct Configuration: Sendable {
        /// Transfers at once of this transport alone, or nil to share the process's four. nil by default.
        public var transfersAtOnce: Int?
        /// Seconds without a byte, although the answer lies in the socket, until a transfer is begun anew on a fresh
        /// session. 1 by default.
        public var stallTimeout: Double
        /// How often one transfer is begun anew. 3 by default.
        public var maxStallRetries: Int
        /// Bytes of a body that may wait for its consumer, because URLSession cannot be paused: beyond them the
        /// transfer ends with ``ImageError/tooLarge(_:)``. 64 MiB by default.
        public var maxWaitingBytes: Int

        /// What is not given has its default.
        public init(
            transfersAtOnce: Int? = nil, stallTimeout: Double = 1, maxStallRetries: Int = 3,
            maxWaitingBytes: Int = 64 << 20
        ) {
            self.transfersAtOnce = transfersAtOnce
            self.stallTimeout = stallTimeout
            self.maxStallRetries = maxStallRetries
            self.maxWaitingBytes = maxWaitingBytes
        }
    }

    /// Transfers stall when libcurl closes connections, which it does beyond 4 x the running transfers.
    private static let processGate = Gate(capacity: 4)
    private static let resolver = BlockingExecutor(name: "larder-resolve", width: 4)

    private let gate: Gate
    private let sessions: URLSessionPool
    private let watch: TransferWatch

    /// `urlsession`.
    public let name = "urlsession"

    /// Starts nothing before the first request.
    public convenience init(configuration: Configuration = .init()) {
        self.init(configuration: configuration, time: SystemTime())
    }

    package init(configuration: Configuration, time: any TimeSource) {
        gate = configuration.transfersAtOnce.map { Gate(capacity: $0) } ?? Self.processGate
        sessions = URLSessionPool()
        watch = TransferWatch(configuration: configuration, time: time)
    }

    deinit { sessions.close() }

    /// How many transfers were begun anew because URLSession had stalled: none of them a failure of a server.
    public var stallRetries: Int { watch.stallRetries }

    /// As ``Transport/open(_:)``.
    public func open(_ request: TransportRequest) async throws(ImageError) -> TransportResponse {
        guard let scheme = request.url.scheme?.lowercased(), ["http", "https"].contains(scheme),
            let host = request.url.host, !host.isEmpty
        else { throw .invalidURL(.init("not an http or https URL with a host", url: request.url.withoutUserInfo)) }
        try request.checkFraming()
        if request.addresses != .any {
            try await Self.resolver.run { () throws(ImageError) in
                do throws(ImageError) { try request.addresses.check(host: host) } catch { throw error.at(request.url) }
            }
        }
        try await gate.acquire()
        let transfer = URLSessionTransfer(request: request, sessions: sessions, watch: watch) { [gate] in
            gate.release()
        }
        return try await transfer.open()
    }
}
