import Foundation
import Larder

/// The threads and sockets behind an ``Origin``: they hold this, not the origin, so that it can be released.
final class OriginCore: Sendable {
    struct State {
        var handlers: [String: Origin.Handler] = [:]
        var fallback: Origin.Handler?
        var requests: [OriginRequest] = []
        var accepted = 0
        var open: Set<Int32> = []
        var gates: [Gate] = []
        var stopped = false
        var waiters: [(condition: @Sendable (State) -> Bool, release: Release)] = []
    }

    struct Failure: Error { var message: String }

    let state = Lock(State())
    private let listeners: [Int32]

    private init(listeners: [Int32]) { self.listeners = listeners }

    static func listening(on addresses: [String]) throws -> (OriginCore, Int) {
        // A port that is free on the first address may be taken on the second: try again with another.
        for _ in 0..<20 {
            var port: UInt16 = 0
            var sockets: [Int32] = []
            for address in addresses {
                guard let socket = bound(to: address, port: &port) else { break }
                sockets.append(socket)
            }
            guard sockets.count == addresses.count else {
                for socket in sockets { close(socket) }
                continue
            }
            let core = OriginCore(listeners: sockets)
            for (socket, address) in zip(sockets, addresses) {
                spawn { core.accept(from: socket, address: address) }
            }
            return (core, Int(port))
        }
        throw Failure(message: "no port to listen on at \(addresses): errno \(errno)")
    }

    private static func bound(to address: String, port: inout UInt16) -> Int32? {
        let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard fd >= 0 else { return nil }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        inet_pton(AF_INET, address, &name.sin_addr)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let done = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(fd, $0, length) == 0 && listen(fd, 1024) == 0 && getsockname(fd, $0, &length) == 0
            }
        }
        guard done else {
            close(fd)
            return nil
        }
        port = UInt16(bigEndian: name.sin_port)
        return fd
    }

    private static func spawn(_ body: @escaping @Sendable () -> Void) {
        let thread = Thread(block: body)
        thread.stackSize = 512 << 10
        thread.start()
    }

    func stop() {
        let gates = state.withLock { state in
            guard !state.stopped else { return [Gate]() }
            state.stopped = true
            for fd in state.open { shutdown(fd, Int32(SHUT_RDWR)) }
            for fd in listeners { shutdown(fd, Int32(SHUT_RDWR)) }
            return state.gates
        }
        for gate in gates { gate.open() }
    }

    /// Suspends until the condition holds of the state, or the task was cancelled.
    func wait(until condition: @escaping @Sendable (State) -> Bool) async {
        await withRelease { release in
            let holds = state.withLock { state in
                if condition(state) { return true }
                state.waiters.append((condition, release))
                return false
            }
            if holds { release.resume() }
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            let waiters = state.waiters
            state.waiters = []
            var ready: [Release] = []
            for waiter in waiters {
                if waiter.condition(state) {
                    ready.append(waiter.release)
                } else {
                    state.waiters.append(waiter)
                }
            }
            return ready
        }
        for release in ready { release.resume() }
    }

    // MARK: - Threads

    private func accept(from listener: Int32, address: String) {
        while true {
            let fd = Glibc.accept(listener, nil, nil)
            if fd >= 0 {
                _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
            } else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                break
            }
            var number = 0
            change { state in
                number = state.accepted
                state.accepted += 1
                state.open.insert(fd)
                if state.stopped { shutdown(fd, Int32(SHUT_RDWR)) }
            }
            var on: Int32 = 1
            setsockopt(fd, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
            Self.spawn { [number] in
                OriginConnection(fd: fd, number: number, address: address, core: self).serve()
                // Removed before it is closed: `stop` must not shut down a number that was given out again.
                self.state.withLock { _ = $0.open.remove(fd) }
                close(fd)
                self.change { _ in }
            }
        }
        close(listener)
    }

    func answer(_ request: OriginRequest) -> OriginReply {
        var handler: Origin.Handler?
        change { state in
            state.requests.append(request)
            let path = request.target.prefix { $0 != "?" }
            handler = state.handlers[request.target] ?? state.handlers[String(path)] ?? state.fallback
        }
        return handler?(request) ?? .status(404)
    }

    /// Waits at a gate that `stop` opens.
    func pass(_ gate: Gate) {
        let stopped = state.withLock { state in
            state.gates.append(gate)
            return state.stopped
        }
        if !stopped { gate.wait() }
    }
}
