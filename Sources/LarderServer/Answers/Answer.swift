import Larder

/// What is sent back. Nothing of it depends on a socket.
package struct Answer: Sendable {
    package enum Body: Sendable {
        case bytes([UInt8])
        /// A part of an entry's payload, sent by the kernel from the entry file.
        case entry(StoredEntry, offset: Int, length: Int)

        package var length: Int {
            switch self {
            case .bytes(let bytes): bytes.count
            case .entry(_, _, let length): length
            }
        }
    }

    package var status: Int
    package var fields: HTTPFields
    package var body: Body
    /// The connection ends behind this answer: what follows on it is not to be trusted.
    package var closes = false
    /// For the access log: a problem's code, or where an image came from.
    package var code: String
    /// For metrics and the access log: which route was taken.
    package var route = Route.Name.none
    /// Until when, and while what holds, the very same request gets this answer again. nil: ask anew each time.
    package var lease: AnswerLease?

    package init(
        _ status: Int, fields: HTTPFields = .init(), body: Body = .bytes([]), closes: Bool = false, code: String = ""
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.closes = closes
        self.code = code
    }

    package func on(_ route: Route.Name) -> Answer {
        var answer = self
        answer.route = route
        return answer
    }
}

/// How long an answer may be given again without asking for it.
package struct AnswerLease: Sendable {
    /// Nanoseconds of the monotonic clock.
    package var until: UInt64
    /// Asked each time, on a thread that serves many connections.
    package var holds: @Sendable () -> Bool

    package init(until: UInt64, holds: @escaping @Sendable () -> Bool) {
        self.until = until
        self.holds = holds
    }
}
