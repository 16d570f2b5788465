import Foundation
import Larder

/// A web server on loopback that answers as told: raw sockets, a thread a connection, a port that the system chooses.
///
///     let origin = try Origin()
///     origin.on("/a.png", .ok(bytes))                        // every time
///     origin.on("/b.png", .status(503), .ok(bytes))          // one after the other; the last repeats
///     origin.on("/c.png") { request in request["range"] == nil ? .ok(bytes) : .status(416) }
///     … origin.url("/a.png") …
///     let seen = await origin.requests(atLeast: 1)
///
/// A path that nobody set answers 404. It stops when it is released.
public final class Origin: Sendable {
    public typealias Handler = @Sendable (OriginRequest) -> OriginReply

    private let core: OriginCore
    public let port: Int
    public let address: String

    /// - Parameter addresses: loopback addresses to listen on, all with the same port.
    public init(addresses: [String] = ["127.0.0.1"]) throws {
        let (core, port) = try OriginCore.listening(on: addresses)
        self.core = core
        self.port = port
        address = addresses[0]
    }

    deinit { core.stop() }

    /// Ends every connection and listens no more: later connections are refused.
    public func stop() { core.stop() }

    public func url(_ path: String, address: String? = nil) -> URL {
        URL(string: "http://\(address ?? self.address):\(port)\(path)")!
    }

    /// Answers a path (with its query, or whatever the query) with these, one after the other; the last repeats.
    public func on(_ path: String, _ replies: OriginReply...) {
        let next = Lock(0)
        on(path) { _ in
            next.withLock { index in
                defer { index += 1 }
                return replies[min(index, replies.count - 1)]
            }
        }
    }

    public func on(_ path: String, _ handler: @escaping Handler) {
        core.state.withLock { $0.handlers[path] = handler }
    }

    /// Answers every path that has no answer of its own.
    public func otherwise(_ handler: @escaping Handler) {
        core.state.withLock { $0.fallback = handler }
    }

    /// The requests read so far, in order.
    public var requests: [OriginRequest] { core.state.withLock { $0.requests } }

    /// Waits until so many requests have been read.
    @discardableResult
    public func requests(atLeast count: Int) async -> [OriginRequest] {
        await core.wait { $0.requests.count >= count }
        return requests
    }

    /// Connections accepted so far.
    public var connections: Int { core.state.withLock { $0.accepted } }

    /// Waits until every connection that was accepted has been closed, whoever closed it.
    public func allConnectionsClosed() async { await core.wait { $0.open.isEmpty && $0.accepted > 0 } }

    /// Waits until so many connections have been closed.
    public func connectionsClosed(atLeast count: Int) async {
        await core.wait { $0.accepted - $0.open.count >= count }
    }
}
