import CMicroHTTPD
import Dispatch
import Glibc
import Larder
import Synchronization

/// Puts a `RequestHandler` on a socket through libmicrohttpd: epoll, a pool of threads, everything bounded.
///
/// Only this folder knows libmicrohttpd. The handler is called on a thread that serves many connections; what takes
/// long suspends its connection and goes on in a task.
package final class HTTPDaemon: @unchecked Sendable {
    // Sendable: `daemon` is set once in `init`, before anybody else can hold the object, and cleared by the one call that stops it.

    private struct Load {
        var suspended: [ObjectIdentifier: (Exchange, OpaquePointer)] = [:]
        var isStopped = false
    }

    private let handler: any RequestHandler
    private let configuration: Configuration
    private let time: any TimeSource
    private let register = ConnectionRegister()
    private let load = Lock(Load())
    private let ready = ReadyAnswers()
    private let indifferent: [StaticString]
    private let wantsRequests: Bool
    /// Requests in hand.
    private let running = Atomic(0)
    private let isDraining = Atomic(false)
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
        indifferent = handler.indifferentFields
        wantsRequests = handler.wantsRequests
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
        // What it needs, not the whole: a weak reference would make every count of references to it slow.
        reaper.setEventHandler { [register, ready, handler, time] in
            let now = time.monotonic
            ready.removeExpired(now: now)
            for _ in 0..<register.endExpired(now: now) { handler.connectionTimedOut() }
        }
        reaper.resume()
    }

    deinit { stopNow() }

    /// Open connections.
    package var connections: Int { register.count }

    /// Requests that have begun and not ended, for tests.
    var requestsInHand: Int { running.load(ordering: .relaxed) }

    // MARK: - The end

    /// Accepts nothing more, lets what has begun come to its end for up to `seconds`, then stops.
    package func drain(seconds: Double) async {
        guard let daemon else { return }
        isDraining.store(true, ordering: .relaxed)
        let listener = MHD_quiesce_daemon(daemon)
        if listener >= 0 { Glibc.close(listener) }
        let end = time.monotonic &+ UInt64(max(0, min(seconds, 86_400)) * 1e9)
        while running.load(ordering: .relaxed) > 0, time.monotonic < end {
            try? await time.sleep(seconds: 0.02)
        }
        stopNow()
    }

    /// Ends every connection. What waits is cancelled and answered 503.
    package func stopNow() {
        // libmicrohttpd aborts where a connection is still suspended: every one is resumed, and none suspends any more.
        let waiting = load.withLock { load -> [(Exchange, OpaquePointer)]? in
            guard !load.isStopped else { return nil }
            load.isStopped = true
            return Array(load.suspended.values)
        }
        guard let waiting, let daemon else { return }
        isDraining.store(true, ordering: .relaxed)
        reaper.cancel()
        for (exchange, _) in waiting {
            exchange.cancel()
            finish(exchange, Problem.busy("The server is stopping.", retryAfter: 1).answer)
        }
        MHD_stop_daemon(daemon)
        self.daemon = nil
        ready.removeAll()
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
                daemon.end(Unmanaged<Exchange>.fromOpaque(pointer).takeUnretainedValue())
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

    /// A descriptor a connection and one for the file that is sent on it; two for each answer that is kept ready.
    private static func raiseDescriptorLimit(_ connections: Int) {
        var limit = rlimit()
        let wanted = rlim_t(2 * connections + 512 + 2 * ReadyAnswers.maxCount)
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0, limit.rlim_cur < wanted else {
            return
        }
        limit.rlim_cur = min(wanted, limit.rlim_max)
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    // MARK: - Called by libmicrohttpd

    private static func nanoseconds(_ seconds: Double) -> UInt64 { UInt64(seconds * 1e9) }

    private func open(_ connection: OpaquePointer) -> Connection {
        let opened = Connection(
            descriptor: Wire.descriptor(connection) ?? -1, peer: Wire.peer(connection),
            deadline: time.monotonic &+ Self.nanoseconds(configuration.headerTimeout))
        register.add(opened)
        handler.connection(opened: true)
        return opened
    }

    private func close(_ connection: Connection) {
        connection.exchange.map(end)
        register.remove(connection)
        handler.connection(opened: false)
    }

    /// The request line is there.
    private func begin(_ target: UnsafePointer<CChar>, _ connection: OpaquePointer) -> UnsafeMutableRawPointer? {
        let info = larder_mhd_connection_info(connection, .CONNECTION_INFO_SOCKET_CONTEXT)
        guard let pointer = info?.pointee.socket_context else { return nil }
        let opened = Unmanaged<Connection>.fromOpaque(pointer).takeUnretainedValue()
        let now = time.monotonic
        opened.expect(noLaterThan: now &+ Self.nanoseconds(configuration.headerTimeout))
        opened.exchange.map(end)
        running.add(1, ordering: .relaxed)
        let exchange = Exchange(connection: opened, target: target, began: now)
        opened.exchange = exchange
        return Unmanaged.passUnretained(exchange).toOpaque()
    }

    private func end(_ exchange: Exchange) {
        exchange.connection.exchange = nil
        running.subtract(1, ordering: .relaxed)
        let now = time.monotonic
        exchange.connection.expect(by: now &+ Self.nanoseconds(Double(configuration.idleTimeout) * 2))
        guard let request = exchange.request ?? exchange.ready?.request,
            let answer = exchange.sent ?? exchange.ready?.answer
        else { return }
        handler.completed(request, answer, seconds: Double(now &- exchange.began) / 1e9)
    }

    private func handle(
        _ exchange: Exchange, _ connection: OpaquePointer, _ method: UnsafePointer<CChar>,
        _ version: UnsafePointer<CChar>
    ) -> MHD_Result {
        if let ready = exchange.ready { return send(ready, exchange, connection) }
        guard let request = exchange.request else { return take(exchange, connection, method, version) }
        if let answer = exchange.takeAnswer() { return send(answer, exchange, connection) }
        switch handler.respond(to: request) {
        case .now(let answer): return send(answer, exchange, connection)
        case .later(let work): return suspend(exchange, connection, work)
        }
    }

    /// The first call, in which nothing is answered: an answer would end the connection. That is what libmicrohttpd
    /// does with answers to requests whose body it has not seen, and what is right for one that cannot be trusted.
    private func take(
        _ exchange: Exchange, _ connection: OpaquePointer, _ method: UnsafePointer<CChar>,
        _ version: UnsafePointer<CChar>
    ) -> MHD_Result {
        exchange.connection.expect(by: 0)
        // A NUL cuts the target: then the version does not stand right behind it.
        let isCut = UInt(bitPattern: version) != exchange.targetAddress &+ UInt(exchange.targetLength) &+ 1
        if !isCut, let target = exchange.target, strcmp(method, "GET") == 0, strcmp(version, "HTTP/1.1") == 0 {
            exchange.plain = PlainRequest(connection, target: target, indifferent: indifferent)
            if let plain = exchange.plain, !isDraining.load(ordering: .relaxed),
                let found = ready.answer(to: plain, now: exchange.began)
            {
                exchange.ready = found
                if !wantsRequests { return .YES }
            }
        }
        var request = Request(.init(String(cString: method)), exchange.target ?? "", peer: exchange.connection.peer)
        do throws(Problem) {
            guard exchange.target != nil else { throw .badRequest("The address is not UTF-8.") }
            request.fields = try RequestFraming.check(
                Wire.fields(connection), version: String(cString: version), hasCutTarget: isCut)
            exchange.request = request
            return .YES
        } catch {
            exchange.request = request
            var answer = error.answer
            answer.closes = true
            return send(answer, exchange, connection)
        }
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
        if isDraining.load(ordering: .relaxed) { answer.closes = true }
        if let ready = keep(answer, exchange) {
            exchange.ready = ready
            return send(ready, exchange, connection)
        }
        guard let response = Wire.response(answer) else { return .NO }
        defer { MHD_destroy_response(response) }
        exchange.sent = answer
        expectEnd(of: exchange, length: answer.body.length)
        return MHD_queue_response(connection, UInt32(answer.status), response)
    }

    private func send(_ ready: ReadyAnswer, _ exchange: Exchange, _ connection: OpaquePointer) -> MHD_Result {
        expectEnd(of: exchange, length: ready.answer.body.length)
        return MHD_queue_response(connection, UInt32(ready.answer.status), ready.response)
    }

    /// A client that takes its answer too slowly is ended.
    private func expectEnd(of exchange: Exchange, length: Int) {
        let allowed = Double(configuration.idleTimeout) * 2 + Double(length / configuration.minimumRate)
        exchange.connection.expect(by: time.monotonic &+ Self.nanoseconds(allowed))
    }

    /// Lays out for those who come after what was asked for before and may be given again.
    private func keep(_ answer: Answer, _ exchange: Exchange) -> ReadyAnswer? {
        guard let plain = exchange.plain, let lease = answer.lease, let request = exchange.request, !answer.closes,
            ready.isWanted(plain.hash, holding: min(answer.body.length, configuration.maxHeldBody)),
            let made = ReadyAnswer(
                plain, request, answer, lease: lease, maxHeld: configuration.maxHeldBody)
        else { return nil }
        ready.insert(made, plain.hash)
        return made
    }
}
