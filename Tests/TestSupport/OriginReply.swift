import Foundation

/// What an ``Origin`` does once it has read a request.
public struct OriginReply: Sendable {
    public enum Step: Sendable {
        case send([UInt8])
        /// Waits until the gate is opened, or the origin stops.
        case wait(Gate)
        /// Sends nothing for so many milliseconds: a network that is far away.
        case pause(UInt32)
        /// Sends nothing until the client has gone.
        case hold
        /// Sends these bytes again and again until the client has gone, with a pause of so many milliseconds.
        case forever([UInt8], pause: Int32)
        /// Ends the connection with a RST.
        case reset
        /// Ends the connection with a FIN.
        case close
    }

    public var steps: [Step]
    public init(_ steps: [Step]) { self.steps = steps }

    /// A well-formed answer with a `Content-Length`; the connection stays open.
    public static func status(
        _ status: Int, _ fields: [(String, String)] = [], body: [UInt8] = []
    ) -> OriginReply {
        let bodiless = status == 204 || status == 304 || status < 200
        let length = bodiless ? [] : [("Content-Length", String(body.count))]
        return OriginReply([.send(head(status, length + fields) + (bodiless ? [] : body))])
    }

    /// 200 with the body, a type and more fields; the connection stays open.
    public static func ok(
        _ body: [UInt8], type: String = "image/png", _ fields: [(String, String)] = []
    ) -> OriginReply {
        status(200, [("Content-Type", type)] + fields, body: body)
    }

    /// A redirect whose `Location` is sent exactly as given.
    public static func redirect(_ location: String, status: Int = 302) -> OriginReply {
        self.status(status, [("Location", location)])
    }

    /// 200 that stops at the gate after `first` bytes of the body and sends the rest once it is opened.
    public static func gated(_ body: [UInt8], after first: Int = 0, at gate: Gate) -> OriginReply {
        OriginReply([
            .send(head(200, [("Content-Length", String(body.count))]) + body.prefix(first)), .wait(gate),
            .send(Array(body.dropFirst(first))),
        ])
    }

    /// 200 that announces the whole body, sends `count` bytes of it, and ends the connection.
    public static func cut(_ body: [UInt8], after count: Int, by end: Step = .close) -> OriginReply {
        OriginReply([.send(head(200, [("Content-Length", String(body.count))]) + body.prefix(count)), end])
    }

    /// These bytes and then the end of the connection.
    public static func raw(_ bytes: [UInt8]) -> OriginReply { OriginReply([.send(bytes), .close]) }
    /// This text, whose line ends are to be written `\r\n`, and then the end of the connection.
    public static func raw(_ text: String) -> OriginReply { raw(Array(text.utf8)) }

    /// A status line and header section.
    public static func head(_ status: Int, _ fields: [(String, String)] = []) -> [UInt8] {
        Array("HTTP/1.1 \(status) Status\r\n\(fields.map { "\($0): \($1)\r\n" }.joined())\r\n".utf8)
    }
}

/// A request as an ``Origin`` read it.
public struct OriginRequest: Sendable {
    public var method: String
    /// The request target as sent: path and query.
    public var target: String
    /// Names in lower case, values trimmed, in the order received.
    public var fields: [(name: String, value: String)]
    public var body: [UInt8]
    /// Which of the origin's connections brought it, counted from 0.
    public var connection: Int
    /// The address of ours that was connected to.
    public var address: String

    public subscript(name: String) -> String? {
        fields.first { $0.name == name.lowercased() }?.value
    }
}
