import CMicroHTTPD
import Glibc
import Larder
import Synchronization

/// One connection of a client: whose it is, and until when it must have got on.
///
/// libmicrohttpd's own timeout begins anew with every byte, so a client that sends one now and then would stay for
/// ever. Each phase has a deadline of ours; who passes it is shut down.
final class Connection: @unchecked Sendable {
    // Sendable: `exchange` is touched only by the connection's thread, which libmicrohttpd never changes; the rest is
    // constant or atomic.
    let descriptor: Int32
    let peer: String
    /// The request in hand. libmicrohttpd does not tell the end of every one that it has told the beginning of: what
    /// is still here when the next begins, or the connection ends, is over.
    var exchange: Exchange?
    /// Nanoseconds of the monotonic clock; 0 for none.
    private let deadline: Atomic<UInt64>

    init(descriptor: Int32, peer: String, deadline: UInt64) {
        self.descriptor = descriptor
        self.peer = peer
        self.deadline = Atomic(deadline)
    }

    /// Sets the deadline whatever it was.
    func expect(by time: UInt64) { deadline.store(time, ordering: .relaxed) }

    /// Brings the deadline forward, never back.
    func expect(noLaterThan time: UInt64) {
        let old = deadline.load(ordering: .relaxed)
        if old == 0 || old > time { deadline.store(time, ordering: .relaxed) }
    }

    /// Whether the deadline has passed. Tells it once.
    func takeExpired(now: UInt64) -> Bool {
        let time = deadline.load(ordering: .relaxed)
        return time != 0 && time < now
            && deadline.compareExchange(expected: time, desired: 0, ordering: .relaxed).exchanged
    }
}

/// Every open connection, so that the slow ones can be ended.
final class ConnectionRegister: Sendable {
    private let connections = Lock<[ObjectIdentifier: Connection]>([:])

    func add(_ connection: Connection) { connections.withLock { $0[ObjectIdentifier(connection)] = connection } }
    func remove(_ connection: Connection) { connections.withLock { $0[ObjectIdentifier(connection)] = nil } }
    var count: Int { connections.withLock { $0.count } }

    /// Shuts down the connections whose deadline has passed; gives how many.
    func endExpired(now: UInt64) -> Int {
        // Under the lock: a connection leaves the register before its descriptor is closed, and a number that was
        // given out again must not be shut down.
        connections.withLock { connections in
            var ended = 0
            for connection in connections.values where connection.takeExpired(now: now) {
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
                ended += 1
            }
            return ended
        }
    }
}
