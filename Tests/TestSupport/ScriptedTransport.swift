import Foundation
import Larder

/// A transport whose answers a closure gives, and tests see what was asked: without a network, or with the answers sent
/// by a server on loopback and fetched by one of the engine's transports.
///
///     let transport = ScriptedTransport { request, number in
///         request.fields["if-none-match"] == nil ? .ok(bytes, ["ETag": "\"a\""]) : .status(304)
///     }
package final class ScriptedTransport: Transport {
    /// One answer.
    package struct Reply: Sendable {
        package enum Ending: Sendable {
            case whole
            /// The body ends with an error after its bytes.
            case error(ImageError)
            /// The body does not end before the valve is opened.
            case held(Valve)
        }

        package var status = 200
        package var fields: HTTPFields = [:]
        /// The pieces in which the body arrives.
        package var pieces: [[UInt8]] = []
        package var ending = Ending.whole
        /// Thrown in place of a response.
        package var failure: ImageError?
        /// The head does not come before this valve is opened.
        package var headHeld: Valve?

        package static func ok(_ bytes: [UInt8], _ fields: HTTPFields = [:]) -> Reply {
            var reply = Reply()
            reply.fields = fields
            reply.pieces = [bytes]
            return reply
        }

        package static func status(_ status: Int, _ fields: HTTPFields = [:], _ bytes: [UInt8] = []) -> Reply {
            var reply = ok(bytes, fields)
            reply.status = status
            return reply
        }

        package static func fail(_ error: ImageError) -> Reply {
            var reply = Reply()
            reply.failure = error
            return reply
        }

        /// The same with another ending.
        package func ending(_ ending: Ending) -> Reply {
            var reply = self
            reply.ending = ending
            return reply
        }

        /// The same in pieces of that size.
        package func inPieces(of size: Int) -> Reply {
            var reply = self
            let bytes = pieces.flatMap { $0 }
            reply.pieces = stride(from: 0, to: bytes.count, by: size).map {
                Array(bytes[$0..<min($0 + size, bytes.count)])
            }
            return reply
        }

        /// The same, its head held back.
        package func headHeld(by valve: Valve) -> Reply {
            var reply = self
            reply.headHeld = valve
            return reply
        }
    }

    /// Holds an answer back until the test opens it.
    package final class Valve: Sendable {
        private let state = Lock<(isOpen: Bool, waiters: [Handover<Void>])>((false, []))
        package init() {}

        package func open() {
            let waiters = state.withLock { state in
                state.isOpen = true
                defer { state.waiters = [] }
                return state.waiters
            }
            for waiter in waiters { waiter.resume() }
        }

        package func opened() async {
            await withHandover { continuation in
                let isOpen = state.withLock { state in
                    if !state.isOpen { state.waiters.append(continuation) }
                    return state.isOpen
                }
                if isOpen { continuation.resume() }
            }
        }
    }

    package typealias Script = @Sendable (_ request: TransportRequest, _ number: Int) -> Reply

    private struct State {
        var requests: [TransportRequest] = []
        var cancelled = 0
        var running = 0
        var mostRunning = 0
        var waiters: [(isMet: @Sendable (State) -> Bool, release: Release)] = []
    }

    package let name = "scripted"
    private let script: Script
    private let served: ServedScript?
    private let state = Lock(State())

    /// - Parameters:
    ///   - kind: what carries the answers.
    ///   - script: `number` counts requests from 1.
    package init(over kind: TransportKind = .scripted, _ script: @escaping Script) {
        self.script = script
        served = ServedScript(kind)
    }

    /// What was asked so far, in order.
    package var requests: [TransportRequest] { state.withLock { $0.requests } }
    /// Bodies that nobody wanted to the end, and answers that nobody waited for.
    package var cancelled: Int { state.withLock { $0.cancelled } }
    /// The most exchanges that were open at once.
    package var mostRunning: Int { state.withLock { $0.mostRunning } }

    /// Returns when so many requests have come.
    package func requests(atLeast count: Int) async { await wait { $0.requests.count >= count } }
    /// Returns when so many bodies were cancelled.
    package func cancelled(atLeast count: Int) async { await wait { $0.cancelled >= count } }

    private func wait(_ isMet: @escaping @Sendable (State) -> Bool) async {
        await withRelease { release in
            let there = state.withLock { state in
                if isMet(state) { return true }
                state.waiters.append((isMet, release))
                return false
            }
            if there { release.resume() }
        }
    }

    /// The same, fetched over the wire.
    private func open(
        _ request: TransportRequest, _ number: Int, _ reply: Reply, _ served: ServedScript
    ) async throws(ImageError) -> TransportResponse {
        var response: TransportResponse
        do throws(ImageError) { response = try await served.open(request, number, reply) } catch {
            change { state in
                state.running -= 1
                if case .cancelled = error { state.cancelled += 1 }
            }
            throw error
        }
        let arriving = response.body
        let body = ResponseBody(onCancel: { [self] in
            arriving.cancel()
            change { state in
                state.cancelled += 1
                state.running -= 1
            }
        })
        Task { [weak body, self] in
            do throws(ImageError) {
                while let bytes = try await arriving.next() {
                    guard let body else { return arriving.cancel() }
                    _ = bytes.withUnsafeBytes { body.push($0) }
                }
                end(body, nil)
            } catch {
                end(body, error)
            }
        }
        response.body = body
        return response
    }

    private func end(_ body: ResponseBody?, _ error: ImageError?) {
        guard let body, !body.isFinished else { return }
        change { state in
            state.running -= 1
            // URLSession ends a body itself where the wait for its head was cancelled as the head came.
            if case .cancelled? = error { state.cancelled += 1 }
        }
        body.finish(error)
    }

    private func change(_ body: (inout State) -> Void) {
        let ready = state.withLock { state -> [Release] in
            body(&state)
            let snapshot = state
            let ready = state.waiters.filter { $0.isMet(snapshot) }.map(\.release)
            state.waiters.removeAll { $0.isMet(snapshot) }
            return ready
        }
        for waiter in ready { waiter.resume() }
    }

    package func open(_ request: TransportRequest) async throws(ImageError) -> TransportResponse {
        var number = 0
        change { state in
            state.requests.append(request)
            number = state.requests.count
            state.running += 1
            state.mostRunning = max(state.mostRunning, state.running)
        }
        let reply = script(request, number)
        if let served { return try await open(request, number, reply, served) }
        if let valve = reply.headHeld { await valve.opened() }
        if let failure = reply.failure {
            change { $0.running -= 1 }
            throw failure
        }
        if Task.isCancelled {
            change { state in
                state.running -= 1
                state.cancelled += 1
            }
            throw .cancelled(.init("cancelled before the head came"))
        }
        let body = ResponseBody(onCancel: { [self] in
            change { state in
                state.cancelled += 1
                state.running -= 1
            }
        })
        for piece in reply.pieces { _ = piece.withUnsafeBytes { body.push($0) } }
        switch reply.ending {
        case .whole:
            change { $0.running -= 1 }
            body.finish()
        case .error(let error):
            change { $0.running -= 1 }
            body.finish(error)
        case .held(let valve):
            Task { [weak body, self] in
                await valve.opened()
                guard let body, !body.isFinished else { return }
                change { $0.running -= 1 }
                body.finish()
            }
        }
        return TransportResponse(status: reply.status, fields: reply.fields, httpVersion: "1.1", body: body)
    }
}
