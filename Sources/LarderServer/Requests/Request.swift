import Larder

/// One request as it came over the wire: nothing of it is decoded yet, and nothing of it is trusted.
package struct Request: Sendable {
    package enum Method: Sendable, Hashable {
        case get, head, post, delete
        case other(String)

        package init(_ name: String) {
            switch name {
            case "GET": self = .get
            case "HEAD": self = .head
            case "POST": self = .post
            case "DELETE": self = .delete
            default: self = .other(name)
            }
        }

        package var name: String {
            switch self {
            case .get: "GET"
            case .head: "HEAD"
            case .post: "POST"
            case .delete: "DELETE"
            case .other(let name): name
            }
        }
    }

    package var method: Method
    /// The request target, raw: percent escapes stand as they were sent.
    package var target: String
    package var fields: HTTPFields
    /// The address of the client, for the access log.
    package var peer: String

    package init(_ method: Method = .get, _ target: String, fields: HTTPFields = .init(), peer: String = "") {
        self.method = method
        self.target = target
        self.fields = fields
        self.peer = peer
    }
}
