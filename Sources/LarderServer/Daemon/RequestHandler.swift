import Larder

/// What a daemon asks for each request.
package protocol RequestHandler: Sendable {
    /// The header fields, in lower case, that no answer depends on. A GET that has only these and Host may be answered
    /// by a lease.
    var indifferentFields: [StaticString] { get }

    /// Whether `completed` wants the request as it came; otherwise it may be another of the same target.
    var wantsRequests: Bool { get }

    /// Called on a thread of the daemon, which serves many connections: answers at once, or says how it will.
    func respond(to request: Request) -> Response

    /// A request is over: sent, or given up by the client.
    func completed(_ request: Request, _ answer: Answer, seconds: Double)

    /// A connection was opened or closed.
    func connection(opened: Bool)

    /// A connection was ended because it took too long.
    func connectionTimedOut()
}

package enum Response: Sendable {
    case now(Answer)
    /// The connection waits, without a thread, until the work is done. The work is cancelled when the server stops.
    case later(@Sendable () async -> Answer)
}
