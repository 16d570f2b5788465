import Foundation
import FoundationNetworking

/// One exchange through URLSession: from the gate to the end of the body, over as many tasks as stalls make needed.
package final class URLSessionTransfer: Sendable {
    private typealias Head = Handover<Result<TransportResponse, ImageError>>

    private struct State {
        var waiter: Head?
        /// What `open` answers where nobody waits yet.
        var answer: Result<TransportResponse, ImageError>?
        /// A head that waits for its body, so that a small image wakes its consumer once.
        var held: TransportResponse?
        var task: URLSessionTask?
        var box: URLSessionBox?
        var hasHead = false
        /// Weak, so that a body that its consumer drops stops the transfer.
        weak var body: ResponseBody?
        var started: UInt64 = 0
        var lastByte: UInt64 = 0
        /// Sockets with an unread answer at the last look: two looks that agree are a stall.
        var suspects: Set<ProcessSockets.Unread> = []
        var suspectSince: UInt64?
        var stalls = 0
        var isConnected = false
        var declared: Int64?
        var received: Int64 = 0
        var pressed = 0
        var ended = false
    }

    /// URLSession brings 16 KiB at a time; the consumer is woken for this many, or for all that is left.
    private static let piece: Int64 = 256 << 10

    private let state = Lock(State())
    let request: TransportRequest
    private let sessions: URLSessionPool
    private let watch: TransferWatch
    private let release: @Sendable () -> Void

    /// - Parameter release: called exactly once, when the transfer holds no connection any more.
    init(
        request: TransportRequest, sessions: URLSessionPool, watch: TransferWatch,
        release: @escaping @Sendable () -> Void
    ) {
        self.request = request
        self.sessions = sessions
        self.watch = watch
        self.release = release
    }

    func open() async throws(ImageError) -> TransportResponse {
        let now = watch.now
        state.withLock { ($0.started, $0.lastByte) = (now, now) }
        watch.add(self)
        sessions.start(urlRequest, for: self)
        let result = await withTaskCancellationHandler {
            await withHandover { (continuation: Head) in
                let answer = state.withLock { state in
                    if state.answer == nil { state.waiter = continuation }
                    defer { state.answer = nil }
                    return state.answer
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            end(.cancelled(.init("cancelled while it waited for the response")), dropsHead: true)
        }
        return try result.get()
    }

    private var urlRequest: URLRequest {
        var urlRequest = URLRequest(url: request.url)
        // Setting it normalises the request once more.
        if request.method != "GET" { urlRequest.httpMethod = request.method }
        // A gzip body is decoded on the way while the length stays that of the compressed one.
        var fields = ["Accept-Encoding": "identity"]
        // One field of each name is all that URLRequest can hold.
        for field in request.fields.fields where !fields.keys.contains(where: { $0.equalsIgnoringCase(field.name) }) {
            fields[field.name] = request.fields[field.name]
        }
        urlRequest.allHTTPHeaderFields = fields
        if !request.body.isEmpty { urlRequest.httpBody = Data(request.body) }
        return urlRequest
    }

    // MARK: - From the session

    /// Whether a task is still of use.
    var isWanted: Bool { state.withLock { !$0.ended } }

    /// False where the transfer has ended already, so that the task must not run.
    func attached(_ task: URLSessionTask, on box: URLSessionBox) -> Bool {
        state.withLock { state in
            guard !state.ended else { return false }
            (state.task, state.box) = (task, box)
            return true
        }
    }

    /// The pool is closed.
    func refused() { end(.cancelled(.init("the transport was released"))) }

    func touch() {
        let now = watch.now
        state.withLock { $0.lastByte = now }
    }

    func received(_ response: URLResponse, of task: URLSessionTask) {
        guard let response = response as? HTTPURLResponse, state.withLock({ $0.task === task && !$0.hasHead }) else {
            return
        }
        // URLSession calls back for every interim response, too. 101 was not asked for and has nothing behind it.
        guard response.statusCode >= 200 || response.statusCode == 101 else { return touch() }
        var fields = HTTPFields(response)
        do throws(ImageError) {
            guard response.statusCode != 101 else { throw .malformed("the server switched protocols") }
            try fields.collapseContentLength()
        } catch {
            return end(error)
        }
        let headerBytes = fields.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
        guard headerBytes <= request.maxHeaderBytes else {
            return end(
                .tooLarge(.init("\(headerBytes) bytes of header fields, the limit is \(request.maxHeaderBytes)")))
        }
        let body = ResponseBody(
            onDrain: { [weak self] in self?.state.withLock { $0.pressed = 0 } },
            onCancel: { [weak self] in self?.end(.cancelled(.init("the body was cancelled"))) })
        let answer = TransportResponse(status: response.statusCode, fields: fields, body: body)
        let now = watch.now
        let isTaken = state.withLock { state -> Bool in
            guard !state.ended, state.task === task, !state.hasHead else { return false }
            (state.hasHead, state.body) = (true, body)
            state.lastByte = now
            state.declared = fields["Content-Encoding"] == nil ? fields["Content-Length"].flatMap { Int64($0) } : nil
            if state.waiter == nil { state.answer = .success(answer) } else { state.held = answer }
            return true
        }
        // The late head of a task that was begun anew: its body, released unfinished, would end the new one.
        if !isTaken { body.finish() }
    }

    /// Hands the head on that was held back.
    private func deliverHead() {
        let (head, waiter) = state.withLock { state -> (TransportResponse?, Head?) in
            guard let held = state.held else { return (nil, nil) }
            defer { (state.held, state.waiter) = (nil, nil) }
            return (held, state.waiter)
        }
        if let head { waiter?.resume(returning: .success(head)) }
    }

    func received(_ data: Data, of task: URLSessionTask) {
        let now = watch.now
        let (body, left) = state.withLock { state -> (ResponseBody?, Int64) in
            guard !state.ended, state.task === task else { return (nil, 0) }
            let before = state.received
            state.lastByte = now
            state.received += Int64(data.count)
            return (state.body, state.declared.map { $0 - before } ?? Self.piece)
        }
        let least = Int(max(0, min(Self.piece, left)))
        guard let body else { return }
        let accepts = data.withUnsafeBytes { body.push($0, gathering: least) }
        // The rest of a small body is on its way; where it is not, the watch hands the head on in a moment.
        if least == 0 || left >= Self.piece { deliverHead() }
        guard !accepts else { return }
        let pressed = state.withLock { state in
            state.pressed += data.count
            return state.pressed
        }
        if pressed > watch.configuration.maxWaitingBytes {
            end(.tooLarge(.init("\(pressed) bytes waited for their consumer")))
        }
    }

    /// A 401 whose challenge nobody answers: the response is whole.
    func answeredByChallenge(_ task: URLSessionTask) {
        // That of a task that was begun anew speaks for nobody.
        guard state.withLock({ $0.task === task }) else { return }
        if let response = task.response { received(response, of: task) }
        end(nil, cancelling: true)
    }

    func completed(_ task: URLSessionTask, _ error: (any Error)?) {
        guard state.withLock({ $0.task === task && !$0.ended }) else { return }
        if error == nil, let response = task.response {
            // A redirect that leads nowhere completes without the callback for its response.
            received(response, of: task)
        }
        let (hasHead, received, declared) = state.withLock { ($0.hasHead, $0.received, $0.declared) }
        if let error {
            end(.init(urlSession: error, hasHead: hasHead, received: received, declared: declared), cancelling: false)
        } else {
            end(nil, cancelling: false)
        }
    }

    // MARK: - The end

    /// What a transfer leaves at its end.
    private struct Ended {
        let error: ImageError?
        let body: ResponseBody?
        let waiter: Head?
        let task: URLSessionTask?
        let held: TransportResponse?
    }

    /// Ends the transfer once: tells whoever waits, stops the task, and gives the place in the gate back. Without an
    /// error and without a head it is one that got no response.
    ///
    /// - Parameter dropsHead: whether who waits gets the error even where a head is there.
    private func end(_ error: ImageError?, cancelling: Bool = true, dropsHead: Bool = false) {
        let ended = state.withLock { state -> Ended? in
            guard !state.ended else { return nil }
            state.ended = true
            let error = error ?? (state.hasHead ? nil : .unreachable(.init("the server sent no response")))
            let located = error?.at(request.url)
            if let located, !state.hasHead, state.waiter == nil { state.answer = .failure(located) }
            defer { (state.body, state.waiter, state.task, state.box, state.held) = (nil, nil, nil, nil, nil) }
            return Ended(
                error: located, body: state.body, waiter: state.waiter, task: state.task, held: state.held)
        }
        guard let ended else { return }
        watch.remove(self)
        // Before a head that is dropped: a body that goes unfinished would end the transfer, which is under way.
        ended.body?.finish(ended.error)
        if let held = ended.held, !dropsHead {
            ended.waiter?.resume(returning: .success(held))
        } else if let error = ended.error {
            ended.waiter?.resume(returning: .failure(error))
        }
        if cancelling, let task = ended.task {
            sessions.cancel(task, then: release)
        } else {
            release()
        }
    }

    // MARK: - Deadlines and stalls

    /// Looks at the clock: called by the watch a few times a second.
    func check(now: UInt64, sockets: () -> ProcessSockets) {
        state.withLock(\.body)?.deliver()
        deliverHead()
        let (silence, hasHead, isRunning) = state.withLock { state in
            (Double(now &- min(now, state.lastByte)) / 1e9, state.hasHead, state.task != nil && !state.ended)
        }
        let deadlines = request.deadlines
        if isRunning, silence >= watch.configuration.stallTimeout, isStalled(now: now, sockets().unread(port: port)),
            restart(now: now)
        {
            return
        }
        if hasHead {
            guard silence >= deadlines.idle else { return }
            // Too late to begin anew: the consumer has the beginning.
            let isUnread = !sockets().unread(port: port).isEmpty
            let detail = "no byte for \(deadlines.idle) s" + (isUnread ? ", though some lie unread: a stall" : "")
            return end(.timedOut(.idle, .init(detail)))
        }
        guard silence >= min(deadlines.connect, deadlines.idle) else { return }
        // URLSession does not tell when it has connected: our own sockets do.
        let connected = state.withLock(\.isConnected) || sockets().isConnected(port: port)
        if connected { state.withLock { $0.isConnected = true } }
        if connected, silence >= deadlines.idle {
            end(.timedOut(.idle, .init("no response for \(deadlines.idle) s")))
        } else if !connected, silence >= deadlines.connect {
            end(.timedOut(.connect, .init("no connection within \(deadlines.connect) s")))
        }
    }

    private var port: UInt16 {
        UInt16(exactly: request.url.port ?? (request.url.scheme?.lowercased() == "https" ? 443 : 80)) ?? 0
    }

    /// Whether an answer has lain unread in a socket of that server's port since the last look.
    private func isStalled(now: UInt64, _ unread: Set<ProcessSockets.Unread>) -> Bool {
        let timeout = UInt64(max(0, min(watch.configuration.stallTimeout, 1e9)) * 1e9)
        return state.withLock { state in
            let same = state.suspects.intersection(unread)
            state.suspects = unread
            guard !same.isEmpty, let since = state.suspectSince else {
                state.suspectSince = unread.isEmpty ? nil : now
                return false
            }
            return now &- since >= timeout / 2
        }
    }

    /// A new socket can get the number of one just closed, and URLSession never hears that it is readable: begin anew
    /// on a fresh session, where nothing has reached the consumer yet. False where the deadlines have to judge: an
    /// answer also lies unread for long where this process gets no CPU.
    private func restart(now: UInt64) -> Bool {
        let (task, box) = state.withLock { state -> (URLSessionTask?, URLSessionBox?) in
            guard !state.ended, !state.hasHead, state.stalls < watch.configuration.maxStallRetries,
                ["GET", "HEAD"].contains(request.method)
            else { return (nil, nil) }
            defer { (state.task, state.box) = (nil, nil) }
            state.stalls += 1
            state.suspects = []
            state.suspectSince = nil
            state.lastByte = now
            return (state.task, state.box)
        }
        guard let task else { return false }
        watch.countStall()
        sessions.cancel(task) {}
        sessions.start(urlRequest, for: self, insteadOf: box)
        return true
    }
}

extension HTTPFields {
    /// Makes one of several equal lengths (RFC 9110 §8.6); several that differ leave the end of the body open.
    ///
    /// - Throws: ``ImageError/unreachable(_:)``.
    fileprivate mutating func collapseContentLength() throws(ImageError) {
        guard let text = self["Content-Length"], text.contains(",") else { return }
        let lengths = Set(text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
        guard lengths.count == 1 else { throw .malformed("several lengths: \(text)") }
        self["Content-Length"] = lengths.first
    }

    /// URLSession keeps neither the order of the fields nor repeated ones apart: by name, joined.
    init(_ response: HTTPURLResponse) {
        var fields: [Field] = []
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            fields.append(Field(name, value))
        }
        self.init(fields.sorted { $0.name < $1.name })
    }
}
