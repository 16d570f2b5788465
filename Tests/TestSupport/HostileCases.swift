import Foundation
import Larder

extension HostileCase {
    public static let all: [HostileCase] =
        connections + slow + heads + lengths + chunks + codings + statuses + redirects + bodies

    private static func answering(
        _ name: String, _ outcome: Outcome, exceptions: [String: Outcome] = [:], endsURLSession: Bool = false,
        _ reply: OriginReply
    ) -> HostileCase {
        HostileCase(name, outcome, exceptions: exceptions, endsURLSession: endsURLSession) { $0.on("/image", reply) }
    }

    private static let length = "Content-Length: \(image.count)"

    static let connections: [HostileCase] = [
        HostileCase("connection refused", .failure("unreachable")) { $0.stop() },
        answering("closed before the head", .failure("unreachable"), OriginReply([.close])),
        answering("reset before the head", .failure("unreachable"), OriginReply([.reset])),
        answering(
            "closed inside the head", .failure("unreachable"), endsURLSession: true,
            .raw("HTTP/1.1 200 OK\r\nContent-Le")),
        answering(
            "closed behind a length in the head", .failure("unreachable"),
            .raw("HTTP/1.1 200 OK\r\n\(length)\r\n")),
        answering(
            "reset inside the head", .failure("unreachable"),
            OriginReply([.send(Array("HTTP/1.1 200 OK\r\nContent-Le".utf8)), .reset])),
        answering("closed behind the head", .failure("truncated"), .cut(image, after: 0)),
        answering("closed inside the body", .failure("truncated"), .cut(image, after: 40)),
        answering("reset inside the body", .failure("truncated"), .cut(image, after: 40, by: .reset)),
        answering(
            "closed inside a body without a length", .failure("truncated"),
            .lines("HTTP/1.1 200 OK", body: Array(image.prefix(40)))),
    ]

    static let slow: [HostileCase] = [
        answering("no answer", .failure("timed_out"), OriginReply([.hold])),
        answering(
            "silence inside the head", .failure("timed_out"),
            OriginReply([.send(Array("HTTP/1.1 200 OK\r\n".utf8)), .hold])),
        answering(
            "silence inside the body", .failure("timed_out"),
            OriginReply([
                .send(OriginReply.head(200, [("Content-Length", String(image.count))]) + image.prefix(9)), .hold,
            ])),
        answering(
            "a byte now and then, for ever", .failure("timed_out"),
            OriginReply([.send(OriginReply.head(200) + image), .forever([0], pause: 100)])),
        answering(
            "a header line now and then, for ever", .failure("timed_out"),
            OriginReply([.send(Array("HTTP/1.1 200 OK\r\n".utf8)), .forever(Array("X: y\r\n".utf8), pause: 100)])),
        answering(
            "a body without end, at full speed", .failure("too_large"),
            OriginReply([.send(OriginReply.head(200) + image), .forever([UInt8](repeating: 0, count: 65536), pause: 0)])
        ),
        answering(
            "interim responses for ever", .failure("timed_out"),
            OriginReply([.forever(Array("HTTP/1.1 103 Early Hints\r\n\r\n".utf8), pause: 50)])),
    ]

    static let heads: [HostileCase] = [
        answering(
            "10 MB of header fields", .failure("too_large"),
            OriginReply([
                .send(OriginReply.head(200, (0..<2500).map { ("X-\($0)", String(repeating: "x", count: 4000)) }))
            ])
        ),
        answering(
            "one header line of 10 MB", .failure("too_large"),
            OriginReply([.send(OriginReply.head(200, [("X", String(repeating: "x", count: 10 << 20))]))])),
        answering(
            "header fields for ever, at full speed", .failure("too_large"),
            OriginReply([
                .send(Array("HTTP/1.1 200 OK\r\n".utf8)),
                .forever(Array(("X: " + String(repeating: "x", count: 4000) + "\r\n").utf8), pause: 0),
            ])),
        answering("no status line", .failure("unreachable"), .raw("hello\r\n\r\n")),
        answering("HTTP/0.9", .failure("unreachable"), .raw(image)),
        answering("another protocol", .failure("unreachable"), .raw("SSH-2.0-OpenSSH_9.2\r\n")),
        answering("a status that is no number", .failure("unreachable"), .lines("HTTP/1.1 2x0 OK")),
        answering("a status of one digit", .failure("unreachable"), .lines("HTTP/1.1 2 OK")),
        answering("an unknown version", .failure("unreachable"), .lines("HTTP/7.3 200 OK", length)),
        answering(
            "a status line without a reason", .image, exceptions: ["urlsession": .failure("unreachable")],
            .lines("HTTP/1.1 200", length)),
        answering("HTTP/1.0", .image, .lines("HTTP/1.0 200 OK")),
        answering(
            "NUL in a header field", .failure("unreachable"),
            .lines("HTTP/1.1 200 OK", "X: a\0b", length)),
        answering(
            "a header field that is not UTF-8", .image, exceptions: ["urlsession": .failure("unreachable")],
            OriginReply([
                .send(
                    Array("HTTP/1.1 200 OK\r\n\(length)\r\nX: ".utf8) + [0xE4, 0xFF] + Array("\r\n\r\n".utf8)
                        + image)
            ])),
        answering(
            "a folded header field", .image,
            .lines("HTTP/1.1 200 OK", "X: one", " two", length)),
        answering(
            "a header field without a colon", .failure("unreachable"),
            .lines("HTTP/1.1 200 OK", "nonsense", length)),
        answering(
            "a header field without a space behind the colon", .image,
            exceptions: ["urlsession": .failure("unreachable")],
            .lines("HTTP/1.1 200 OK", "Content-Type:image/png", length)),
        answering(
            "bare line feeds", .image, exceptions: ["urlsession": .failure("unreachable")],
            .raw(Array("HTTP/1.1 200 OK\n\(length)\n\n".utf8) + image)),
    ]

    static let lengths: [HostileCase] = [
        answering("no length at all", .image, .lines("HTTP/1.1 200 OK")),
        answering(
            "two different lengths", .failure("unreachable"),
            .lines("HTTP/1.1 200 OK", length, "Content-Length: \(image.count - 1)")),
        answering(
            "the same length twice", .image,
            .lines("HTTP/1.1 200 OK", length, length)),
        answering("a negative length", .failure("unreachable"), .lines("HTTP/1.1 200 OK", "Content-Length: -1")),
        answering(
            "a length that is no number", .failure("unreachable"), .lines("HTTP/1.1 200 OK", "Content-Length: abc")),
        answering(
            "a length beyond 64 bits", .failure("too_large"),
            .lines("HTTP/1.1 200 OK", "Content-Length: 99999999999999999999999")),
        answering(
            "a length that is too long", .failure("truncated"),
            .lines("HTTP/1.1 200 OK", "Content-Length: \(image.count + 1)")),
        answering(
            "a length that is too short", .failure("truncated"),
            .lines("HTTP/1.1 200 OK", "Content-Length: \(image.count - 10)")),
        answering(
            "8 GB announced", .failure("too_large"),
            OriginReply([.send(OriginReply.head(200, [("Content-Length", "8589934592")]) + image), .hold])),
    ]

    private static let chunked = "Transfer-Encoding: chunked"
    private static func chunk(_ bytes: some Collection<UInt8>) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }

    static let chunks: [HostileCase] = [
        answering(
            "chunked", .image,
            .lines("HTTP/1.1 200 OK", chunked, body: chunk(image.prefix(30)) + chunk(image.dropFirst(30)) + chunk([]))),
        answering(
            "chunked with trailers", .image, endsURLSession: true,
            .lines("HTTP/1.1 200 OK", chunked, body: chunk(image) + Array("0\r\nX-Trailer: 1\r\n\r\n".utf8))),
        answering(
            "chunked, with a size that is no number", .failure("truncated"),
            .lines("HTTP/1.1 200 OK", chunked, body: chunk(image.prefix(30)) + Array("zz\r\n".utf8))),
        answering(
            "chunked, with a size beyond 64 bits", .failure("truncated"),
            .lines("HTTP/1.1 200 OK", chunked, body: Array("fffffffffffffffff\r\n".utf8) + image)),
        answering(
            "chunked, cut inside a chunk", .failure("truncated"),
            .lines("HTTP/1.1 200 OK", chunked, body: Array(chunk(image).prefix(40)))),
        answering(
            "chunked, without the last chunk", .failure("truncated"),
            .lines("HTTP/1.1 200 OK", chunked, body: chunk(image))),
        answering(
            "chunked, and a length", .image,
            .lines("HTTP/1.1 200 OK", chunked, "Content-Length: 3", body: chunk(image) + chunk([]))),
    ]

    static let codings: [HostileCase] = [
        answering(
            "gzip, though identity was asked for", .failure("unsupported_format"),
            .ok(gzip(image), [("Content-Encoding", "gzip")])),
        answering(
            "a gzip bomb", .failure("unsupported_format"),
            .ok(gzip([UInt8](repeating: 0, count: 64 << 20)), [("Content-Encoding", "gzip")])),
        answering(
            "gzip that is damaged", .failure("unsupported_format"),
            .ok(Array(gzip(image).dropLast(20)), [("Content-Encoding", "gzip")])),
        answering("identity, said aloud", .image, .ok(image, [("Content-Encoding", "identity")])),
    ]

    static let bodies: [HostileCase] = [
        answering(
            "an HTML page that calls itself JPEG", .failure("not_an_image"),
            .ok(Array("<!doctype html><title>404</title>".utf8), type: "image/jpeg")),
        answering("a PNG that calls itself JPEG", .image, .ok(image, type: "image/jpeg")),
        answering("a PNG that calls itself HTML", .image, .ok(image, type: "text/html")),
        answering("a body of zero bytes", .failure("not_an_image"), .ok([])),
        answering(
            "a body of zero bytes without a length", .failure("not_an_image"), .lines("HTTP/1.1 200 OK", body: [])),
        answering("an image cut short with a matching length", .failure("truncated"), .ok(Array(image.dropLast(12)))),
    ]
}
