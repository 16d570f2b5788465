import Foundation
import Larder

/// Puts the replies of a script on the wire: an ``Origin`` answers with them, and a transport of the engine asks it.
final class ServedScript: Sendable {
    private let origin: Origin
    private let transport: any Transport
    private let replies = Lock<[String: OriginReply]>([:])

    /// nil for a kind that needs no network.
    init?(_ kind: TransportKind) {
        guard let transport = kind.make(), let origin = try? Origin() else { return nil }
        self.transport = transport
        self.origin = origin
        let replies = replies
        origin.otherwise { request in replies.withLock { $0[request.target] } ?? .status(500) }
    }

    deinit { origin.stop() }

    /// The exchange of a request that the script has answered with `reply`: sent to the origin, whatever its host.
    func open(
        _ request: TransportRequest, _ number: Int, _ reply: ScriptedTransport.Reply
    ) async throws(ImageError) -> TransportResponse {
        let target = "/\(number)"
        let wire = reply.onTheWire(request.method)
        replies.withLock { $0[target] = wire }
        var request = request
        request.url = origin.url(target)
        // A script may hold an answer back for as long as it takes, on a machine that is busy.
        (request.deadlines.connect, request.deadlines.idle) = (3600, 3600)
        return try await transport.open(request)
    }
}

extension ScriptedTransport.Reply {
    fileprivate func onTheWire(_ method: String) -> OriginReply {
        if failure != nil { return OriginReply([.close]) }
        var steps: [OriginReply.Step] = []
        if let headHeld { steps.append(.wait(headHeld.gate)) }
        let head = { [status] (fields: [(String, String)]) in OriginReply.Step.send(OriginReply.head(status, fields)) }
        var fields = fields.fields.map { ($0.name, $0.value) }
        let bytes = pieces.flatMap { $0 }
        let isAnnounced = self.fields["Content-Length"] != nil
        guard method != "HEAD", status != 204, status != 304 else { return OriginReply(steps + [head(fields)]) }
        switch ending {
        case .whole:
            if !isAnnounced { fields.append(("Content-Length", String(bytes.count))) }
            steps += [head(fields), .send(bytes)]
        case .error:
            if !isAnnounced { fields.append(("Content-Length", String(bytes.count + 1))) }
            steps += [head(fields), .send(bytes), .close]
        case .held(let valve) where isAnnounced:
            steps += [head(fields), .send(bytes.dropLast()), .wait(valve.gate), .send(bytes.suffix(1))]
        case .held(let valve):
            fields.append(("Transfer-Encoding", "chunked"))
            let chunk = Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
            steps += [
                head(fields), .send(bytes.isEmpty ? [] : chunk), .wait(valve.gate), .send(Array("0\r\n\r\n".utf8)),
            ]
        }
        return OriginReply(steps)
    }
}

extension ScriptedTransport.Valve {
    /// The same for a thread that waits.
    fileprivate var gate: Gate {
        let gate = Gate()
        Task {
            await opened()
            gate.open()
        }
        return gate
    }
}
