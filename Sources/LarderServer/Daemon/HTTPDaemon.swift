import CMicroHTTPD
import Dispatch
import Glibc
import Larder

/// Puts a `RequestHandler` on a socket through libmicrohttpd: epoll, a pool of threads, everything bounded.
///
/// Only this folder knows libmicrohttpd. The handler is called on a thread that serves many connections; what takes
/// long suspends its connection and goes on in a task.
package final class HTTPDaemon: @unchecked Sendable {
    // Sendable: `daemon` is set once in `init`, before anybody else can hold the object, and cleared by the one call that stops it.

    package struct Configuration: Sendable {
        /// Threads that serve connections. The number of processors by default.
        package var threads: Int
        /// Open connections; more are closed at once.
        package var maxConnections: Int
        /// Bytes of a connection's request line and header fields.
        package var memoryPerConnection: Int
        /// Seconds without any byte after which a connection is closed.
        package var idleTimeout: UInt32
        /// Seconds from the first byte of a request to the end of its header.
        package var headerTimeout: Double
        /// Bytes a second that a client must take of a body, reckoned over the whole.
        package var minimumRate: Int

        package init(
            threads: Int = sysconf(Int32(_SC_NPROCESSORS_ONLN)), maxConnections: Int = 16_000,
            memoryPerConnection: Int = 8 << 10, idleTimeout: UInt32 = 30, headerTimeout: Double = 10,
            minimumRate: Int = 8 << 10
        ) {
            self.threads = max(1, threads)
            self.maxConnections = max(16, maxConnections)
            self.memoryPerConnection = max(4096, memoryPerConnection)
            self.idleTimeout = idleTimeout
            self.headerTimeout = headerTimeout
            self.minimumRate = max(1, minimumRate)
        }
    }

    private struct Load {
        var running = 0
        var suspended: [ObjectIdentifier: (Exchange, OpaquePointer)] = [:]
        var isDraining = false
        var isStopped = false
    }

    private let handler: any RequestHandler
    private let configuration: Configuration
    private let time: any TimeSource
    private let register = ConnectionRegister()
    private let load = Lock(Load())
    private let reaper: any DispatchSourceTimer
    private var daemon: OpaquePointer?
    package let socket: ListenSocket

    /// Begins to serve. The socket is closed when the daemon stops.
    ///
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where libmicrohttpd will not start.
    package init(
        on socket: ListenSocket, handler: any RequestHandler, configuration: Configuration = .init(),
        time: any TimeSource = SystemTime()
    ) throws(ImageError) {
        self.socket = socket
        self.handler = handler
        self.configuration = configuration
        self.time = time
        Self.raiseDescriptorLimit(configuration.maxConnections)
        reaper = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "larder.slow-connections"))
        // Unretained: `stop` ends libmicrohttpd's threads before this object can go.
        let context = Unmanaged.passUnretained(self).toOpaque()
        daemon = start(context)
        guard daemon != nil else {
            reaper.resume()
            reaper.cancel()
            throw .cacheUnavailable(.init("libmicrohttpd could not start on \(socket.address)"))
        }
        reaper.schedule(deadline: .now() + 1, repeating: 1)
        reaper.setEventHandler { [weak self] in self?.endSlowConnections() }
        reaper.resume()
    }

    deinit { stopNow() }

    /// Open connections.
    package var connections: Int { register.count }

    // MARK: - The end

    /// Accepts nothing more, lets what has begun come to its end for up to `seconds`, then stops.
    package func drain(seconds: Double) async {
        guard let daemon else { return }
        load.withLock { $0.isDraining = true }
        let listener = MHD_quiesce_daemon(daemon)
        if listener >= 0 { Glibc.close(listener) }
        let end = time.monotonic &+ UInt64(max(0, min(seconds, 86_400)) * 1e9)
        while load.withLock({ $0.running > 0 }), time.monotonic < end {
            try? await time.sleep(seconds: 0.02)
        }
        stopNow()
    }

    /// Ends every connection. What waits is cancelled and answered 503.
    package func stopNow() {
        // libmicrohttpd aborts where a connection is still suspended: every one is resumed, and none suspends any more.
        let waiting = load.withLock { load -> [(Exchange, OpaquePointer)]? in
            guard !load.isStopped else { return nil }
            load.isDraining = true
            load.isStopped = true
            return Array(load.suspended.values)
        }
        guard let waiting, let daemon else { return }
        reaper.cancel()
        for (exchange, _) in waiting {
            exchange.cancel()
            finish(exchange, Problem.busy("The server is stopping.", retryAfter: 1).answer)
        }
        MHD_stop_daemon(daemon)
        self.daemon = nil
    }

    private func endSlowConnections() {
        for _ in 0..<register.endExpired(now: time.monotonic) { handler.connectionTimedOut() }
    }

    // MARK: - The start

    private func start(_ context: UnsafeMutableRawPointer) -> OpaquePointer? {
        larder_mhd_start(
            socket.descriptor, UInt32(clamping: configuration.threads), UInt32(clamping: configuration.maxConnections),
            configuration.memoryPerConnection, configuration.idleTimeout, context,
            { context, connection, _, method, version, _, _, slot in
                guard let daemon = HTTPDaemon.from(context), let connection, let method, let version,
                    let pointer = slot?.pointee
                else { return .NO }
                let exchange = Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue()
                return daemon.handle(exchange, connection, method, version)
            },
            { context, target, connection in
                guard let daemon = HTTPDaemon.from(context), let target, let connection else { return nil }
                return daemon.begin(target, connection)
            },
            { context, _, slot, _ in
                guard let daemon = HTTPDaemon.from(context), let slot, let pointer = slot.pointee else { return }
                slot.pointee = nil
                daemon.end(Unmanaged<Exchange>.fromOpaque(pointer).takeRetainedValue())
            },
            { context, connection, slot, code in
                guard let daemon = HTTPDaemon.from(context), let connection, let slot else { return }
                if code == .CONNECTION_NOTIFY_STARTED {
                    slot.pointee = Unmanaged.passRetained(daemon.open(connection)).toOpaque()
                } else if let pointer = slot.pointee {
                    slot.pointee = nil
                    daemon.close(Unmanaged<Connection>.fromOpaque(pointer).takeRetainedValue())
                }
            })
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> HTTPDaemon? {
        context.map { Unmanaged<HTTPDaemon>.fromOpaque($0).takeUnretainedValue() }
    }

    /// A descriptor a connection, and one for the file that is sent on it.
    private static func raiseDescriptorLimit(_ connections: Int) {
        var limit = rlimit()
        let wanted = rlim_t(2 * connections + 512)
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < wanted else {
            return
        }
        limit.rlim_cur = min(wanted, limit.rlim_max)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    // MARK: - Called by libmicrohttpd

    private func after(_ seconds: Double) -> UInt64 { time.monotonic &+ UInt64(seconds * 1e9) }

    private func open(_ connection: OpaquePointer) -> Connection {
        let descriptor = larder_mhd_connection_info(connection, .CONNECTION_INFO_CONNECTION_FD)?.pointee.connect_fd
        let address = larder_mhd_connection_info(connection, .CONNECTION_INFO_CLIENT_ADDRESS)?.pointee.client_addr
        let peer = address.map { SocketName(UnsafePointer($0)).host } ?? ""
        let opened = Connection(
            descriptor: descriptor ?? -1, peer: peer, deadline: after(configuration.headerTimeout))
        register.add(opened)
        handler.connection(opened: true)
        return opened
    }

    private func close(_ connection: Connection) {
        register.remove(connection)
        handler.connection(opened: false)
    }

    /// The request line is there.
    private func begin(_ target: UnsafePointer<CChar>, _ connection: OpaquePointer) -> UnsafeMutableRawPointer? {
        let info = larder_mhd_connection_info(connection, .CONNECTION_INFO_SOCKET_CONTEXT)
        guard let pointer = info?.pointee.socket_context else { return nil }
        let opened = Unmanaged<Connection>.fromOpaque(pointer).takeUnretainedValue()
        opened.expect(noLaterThan: after(configuration.headerTimeout))
        load.withLock { $0.running += 1 }
        let exchange = Exchange(connection: opened, target: target, began: time.monotonic)
        return Unmanaged.passRetained(exchange).toOpaque()
    }

    private func end(_ exchange: Exchange) {
        load.withLock { $0.running -= 1 }
        exchange.connection.expect(by: after(Double(configuration.idleTimeout) * 2))
        guard let request = exchange.request, let answer = exchange.sent else { return }
        handler.completed(request, answer, seconds: Double(time.monotonic &- exchange.began) / 1e9)
    }

    private func handle(
        _ exchange: Exchange, _ connection: OpaquePointer, _ method: UnsafePointer<CChar>,
        _ version: UnsafePointer<CChar>
    ) -> MHD_Result {
        if let request = exchange.request {
            if let answer = exchange.takeAnswer() { return send(answer, exchange, connection) }
            switch handler.respond(to: request) {
            case .now(let answer): return send(answer, exchange, connection)
            case .later(let work): return suspend(exchange, connection, work)
            }
        }
        // The first call. An answer to it ends the connection: that is what libmicrohttpd does with answers to
        // requests whose body it has not seen, and what is right for a request that cannot be trusted.
        exchange.connection.expect(by: 0)
        var request = Request(.init(String(cString: method)), exchange.target ?? "", peer: exchange.connection.peer)
        do throws(Problem) {
            // A NUL cuts the target: then the version does not stand right behind it.
            let cut = UInt(bitPattern: version) != exchange.targetAddress &+ UInt(exchange.targetLength) &+ 1
            guard exchange.target != nil else { throw .badRequest("The address is not UTF-8.") }
            request.fields = try RequestFraming.check(
                fields(connection), version: String(cString: version), hasCutTarget: cut)
            exchange.request = request
            return .YES
        } catch {
            exchange.request = request
            var answer = error.answer
            answer.closes = true
            return send(answer, exchange, connection)
        }
    }

    private func fields(_ connection: OpaquePointer) -> [RequestFraming.RawField] {
        var fields: [RequestFraming.RawField] = []
        withUnsafeMutablePointer(to: &fields) { pointer in
            _ = MHD_get_connection_values_n(
                connection, .HEADER_KIND,
                { context, _, name, nameLength, value, valueLength in
                    let fields = context?.assumingMemoryBound(to: [RequestFraming.RawField].self)
                    func bytes(_ start: UnsafePointer<CChar>?, _ count: Int) -> [UInt8] {
                        Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
                    }
                    fields?.pointee.append(.init(bytes(name, nameLength), bytes(value, valueLength)))
                    return .YES
                }, pointer)
        }
        return fields
    }

    private func suspend(
        _ exchange: Exchange, _ connection: OpaquePointer, _ work: @escaping @Sendable () async -> Answer
    ) -> MHD_Result {
        exchange.wait()
        MHD_suspend_connection(connection)
        let isAccepted = load.withLock { load -> Bool in
            load.suspended[ObjectIdentifier(exchange)] = (exchange, connection)
            return !load.isStopped
        }
        guard isAccepted else {
            finish(exchange, Problem.busy("The server is stopping.", retryAfter: 1).answer)
            return .YES
        }
        exchange.attach(Task { [self] in finish(exchange, await work()) })
        return .YES
    }

    /// Hands the answer to the connection that waits. The second answer to one request is dropped.
    private func finish(_ exchange: Exchange, _ answer: Answer) {
        guard exchange.finish(answer) else { return }
        let connection = load.withLock { $0.suspended.removeValue(forKey: ObjectIdentifier(exchange))?.1 }
        if let connection { MHD_resume_connection(connection) }
    }

    // MARK: - Answers

    private func send(_ answer: Answer, _ exchange: Exchange, _ connection: OpaquePointer) -> MHD_Result {
        var answer = answer
        if load.withLock({ $0.isDraining }) { answer.closes = true }
        guard let response = Self.response(answer) else { return .NO }
        defer { MHD_destroy_response(response) }
        exchange.sent = answer
        exchange.connection.expect(
            by: after(Double(configuration.idleTimeout) * 2 + Double(answer.body.length / configuration.minimumRate)))
        return MHD_queue_response(connection, UInt32(answer.status), response)
    }

    private static func response(_ answer: Answer) -> OpaquePointer? {
        guard let response = body(answer.body) else { return nil }
        for field in answer.fields.fields { _ = MHD_add_response_header(response, field.name, field.value) }
        if answer.closes { _ = MHD_add_response_header(response, "Connection", "close") }
        return response
    }

    private static func body(_ body: Answer.Body) -> OpaquePointer? {
        func copied(_ bytes: UnsafeRawBufferPointer) -> OpaquePointer? {
            MHD_create_response_from_buffer(
                bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
        switch body {
        case .bytes(let bytes): return bytes.withUnsafeBytes(copied)
        case .entry(let entry, let offset, let length):
            guard length > 0 else { return copied(UnsafeRawBufferPointer(start: nil, count: 0)) }
            guard let descriptor = entry.descriptor else {
                // Held in memory: the directory could not take it.
                guard let bytes = try? entry.payload(), offset + length <= bytes.count else { return nil }
                return bytes.withUnsafeBytes { copied(UnsafeRawBufferPointer(rebasing: $0[offset..<offset + length])) }
            }
            // libmicrohttpd closes what it is given.
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
            guard copy >= 0 else { return nil }
            return MHD_create_response_from_fd_at_offset64(UInt64(length), copy, UInt64(offset))
        }
    }
}
