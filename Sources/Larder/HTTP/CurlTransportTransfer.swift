#if Curl
    import CCurl
    import Foundation

    /// One exchange: from the task that asks, over the loop's thread, to the consumer of the body.
    final class CurlTransfer: @unchecked Sendable {
        // Sendable: `gate` is a lock; `request`, `url` and `loop` never change; all else is touched on the loop's
        // thread only.
        private struct Gate {
            var continuation: Continuation?
            var isCancelled = false
        }
        typealias Continuation = Handover<Result<TransportResponse, ImageError>>

        let request: TransportRequest
        let url: String
        private let loop: CurlLoop
        private let gate = Lock(Gate())

        // MARK: The loop's thread only
        /// Where it stands in the loop's list of running transfers.
        var index = 0
        var handle: CurlHandle?
        var isTouched = false
        private var head: CurlResponseHead
        private var response: TransportResponse?
        // Weak, so that a consumer who lets go of the body ends the transfer.
        private weak var body: ResponseBody?
        private var pending: [UInt8] = []
        private var isAnswered = false
        private var isFull = false
        private var isPaused = false
        private var failure: ImageError?
        private var refusedAddress: String?
        private var triedAddress = false
        private var remoteAddress: String?
        private var begun: UInt64 = 0
        private var lastByte: UInt64?

        /// Bytes that may wait for the consumer before the transfer pauses.
        static let highWater = 256 << 10

        init(_ request: TransportRequest, loop: CurlLoop) throws(ImageError) {
            self.request = request
            self.loop = loop
            url = try CurlHandle.checkedURL(request.url)
            try request.checkFraming()
            head = CurlResponseHead(maxBytes: request.maxHeaderBytes, maxFields: loop.configuration.maxHeaderFields)
        }

        // MARK: - The asking task

        func start(_ continuation: Continuation) {
            let starts = gate.withLock { gate in
                guard !gate.isCancelled else { return false }
                gate.continuation = continuation
                return true
            }
            guard starts else {
                return continuation.resume(returning: .failure(.cancelled(.init("cancelled before it began"))))
            }
            loop.submit(.start(self))
        }

        func cancel() {
            let continuation = gate.withLock { gate in
                gate.isCancelled = true
                defer { gate.continuation = nil }
                return gate.continuation
            }
            // Where there is none, the response is on its way to a consumer who will let go of it.
            guard let continuation else { return }
            continuation.resume(returning: .failure(.cancelled(.init("the request was cancelled"))))
            loop.submit(.stop(self))
        }

        var isCancelled: Bool { gate.withLock { $0.isCancelled } }

        private func answer(_ result: Result<TransportResponse, ImageError>) {
            isAnswered = true
            let continuation = gate.withLock { gate in
                defer { gate.continuation = nil }
                return gate.continuation
            }
            continuation?.resume(returning: result)
        }

        /// Whether it goes to `https:`, the only scheme of its length that is let in.
        var isSecure: Bool { url.utf8.dropFirst(4).first != UInt8(ascii: ":") }

        // MARK: - Deadlines

        func begin(at now: UInt64) { begun = now }

        /// When its next deadline passes; nil where none runs.
        func deadline(countingFromStart: Bool) -> (time: UInt64, which: ImageError.Deadline)? {
            if let lastByte {
                return isPaused ? nil : (lastByte.adding(seconds: request.deadlines.idle), .idle)
            }
            return countingFromStart ? (begun.adding(seconds: request.deadlines.connect), .connect) : nil
        }

        // MARK: - Callbacks of libcurl

        /// The socket for an address, or nil where the policy forbids it.
        func openSocket(_ address: UnsafePointer<curl_sockaddr>) -> Int32? {
            guard request.addresses == .any || request.addresses.permits(CurlHandle.name(of: address)) else {
                refusedAddress = CurlHandle.text(of: address)
                return nil
            }
            triedAddress = true
            let kind = address.pointee.socktype | Int32(bitPattern: SOCK_CLOEXEC.rawValue)
            let descriptor = socket(address.pointee.family, kind, address.pointee.protocol)
            return descriptor >= 0 ? descriptor : nil
        }

        /// The connection stands, new or reused, and the request is about to be sent. False ends the transfer.
        func connected(to address: String) -> Bool {
            // A connection that is used again has been opened for another request, perhaps under another policy.
            if request.addresses != .any, !request.addresses.permits(AddressPolicy.literal(address) ?? []) {
                refusedAddress = address
                triedAddress = false
                return false
            }
            remoteAddress = address
            lastByte = loop.now
            loop.expect(deadline(countingFromStart: false)?.time)
            return true
        }

        /// One line of the header section or of the trailers. False ends the transfer.
        func receive(header line: UnsafeRawBufferPointer) -> Bool {
            lastByte = loop.now
            do throws(ImageError) {
                guard try head.feed(line), response == nil, !isAnswered else { return true }
            } catch {
                failure = error
                return false
            }
            let loop = self.loop
            let body = ResponseBody(
                highWater: Self.highWater, onDrain: { loop.submit(.resume(self)) },
                onCancel: { loop.submit(.stop(self)) })
            self.body = body
            response = TransportResponse(
                status: head.status, fields: head.fields, remoteAddress: remoteAddress, httpVersion: head.version,
                body: body)
            loop.touch(self)
            return true
        }

        /// Bytes of the body. False: not taken, the transfer pauses.
        func receive(body bytes: UnsafeRawBufferPointer) -> Bool {
            guard !isFull else {
                isPaused = true
                return false
            }
            lastByte = loop.now
            if pending.isEmpty {
                // One allocation for most bodies.
                let expected = head.contentLength.map { Int(clamping: $0) } ?? (64 << 10)
                pending.reserveCapacity(max(bytes.count, min(expected, Self.highWater)))
            }
            pending.append(contentsOf: bytes)
            loop.touch(self)
            if pending.count >= Self.highWater { deliver() }
            return true
        }

        // MARK: - The loop

        /// Hands on what arrived in this round: to the consumer before it is told of the response, so that a small
        /// image wakes it once.
        func deliver() {
            let body = response?.body ?? self.body
            if !pending.isEmpty {
                let bytes = pending
                pending = []
                if body?.push(bytes) == false { isFull = true }
            }
            if let response, !isAnswered {
                self.response = nil
                answer(.success(response))
            }
        }

        /// The transfer is out of libcurl's hands.
        func end(_ error: ImageError?) {
            let body = response?.body ?? self.body
            if let body {
                if !pending.isEmpty {
                    body.push(pending)
                    pending = []
                }
                body.finish(error)
                if let response, !isAnswered {
                    self.response = nil
                    answer(.success(response))
                }
            } else if !isAnswered {
                answer(.failure(error ?? .malformed("the response has no header section")))
            }
            response = nil
            pending = []
        }

        /// What libcurl's result means, or nil where all went well.
        func error(for result: CURLcode, _ message: String) -> ImageError? {
            if let failure { return failure }
            if result != CURLE_OK, let refusedAddress, !triedAddress {
                return .refused(.address, .init("\(refusedAddress) is no public address", url: url))
            }
            return CurlFailure.error(
                for: result, message, isConnected: remoteAddress != nil, headIsComplete: head.isComplete
            ).map { $0.at(request.url) }
        }

        /// The consumer has caught up.
        func resume() {
            isFull = false
            guard isPaused, let handle else { return }
            isPaused = false
            lastByte = loop.now
            loop.expect(deadline(countingFromStart: false)?.time)
            curl_easy_pause(handle.easy, CURLPAUSE_CONT)
        }
    }

    extension UInt64 {
        /// Nanoseconds and so many seconds more; for ever where that is no number of this world.
        func adding(seconds: Double) -> UInt64 {
            guard seconds < 1e9 else { return .max }
            let (sum, overflow) = addingReportingOverflow(UInt64(Swift.max(seconds, 0) * 1e9))
            return overflow ? .max : sum
        }
    }
#endif
