import Foundation
import Glibc
import Larder

/// A client that sends exactly the bytes it is told to, and reads what comes. Reading blocks a thread of its own: the
/// server under test may need every thread of the cooperative pool.
package final class RawClient: @unchecked Sendable {
    // Sendable: `input` is touched only on `queue`, one thing after the other.
    private let descriptor: Int32
    private var input: [UInt8] = []
    private let queue = DispatchQueue(label: "raw-client")

    package struct Failure: Error { package var reason: String }

    package struct Reply: Sendable {
        package var status: Int
        package var head: String
        package var body: [UInt8]

        package func field(_ name: String) -> String? {
            for line in head.split(separator: "\r\n").dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                if parts[0].lowercased() == name.lowercased() {
                    return parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
                }
            }
            return nil
        }
    }

    package init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = UInt16(port).bigEndian
        inet_pton(AF_INET, "127.0.0.1", &name.sin_addr)
        // A test that waits for ever says nothing: two minutes are for ever.
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        let connected = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failure(reason: "cannot connect: \(String(cString: strerror(errno)))") }
    }

    deinit { close(descriptor) }

    package func send(_ text: String) { send(Array(text.utf8)) }

    package func send(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { _ = Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Sends a request with a Host field and an empty line.
    package func request(_ line: String, _ fields: String...) {
        send("\(line) HTTP/1.1\r\nHost: localhost\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n")
    }

    /// The next reply on the connection; nil where it was closed before.
    package func reply(hasBody: Bool = true) async throws -> Reply? {
        try await withHandover { handover in
            queue.async { handover.resume(returning: Result { try self.readReply(hasBody) }) }
        }.get()
    }

    /// Whether the server has ended the connection and sent nothing more.
    package func isClosed() async -> Bool {
        await withHandover { handover in
            queue.async { handover.resume(returning: self.input.isEmpty && !self.receive()) }
        }
    }

    private func readReply(_ hasBody: Bool) throws -> Reply? {
        let empty = Array("\r\n\r\n".utf8)
        var end = input.firstRange(of: empty)
        while end == nil {
            guard receive() else { return nil }
            end = input.firstRange(of: empty)
        }
        guard let end else { return nil }
        let head = String(decoding: input[..<end.lowerBound], as: UTF8.self)
        input.removeFirst(end.upperBound)
        let words = head.split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else { throw Failure(reason: "no status line: \(head)") }
        var reply = Reply(status: status, head: head, body: [])
        guard hasBody, status != 304, status != 204 else { return reply }
        guard let length = reply.field("content-length").flatMap({ Int($0) }) else { return reply }
        while input.count < length {
            guard receive() else { throw Failure(reason: "the body was cut short") }
        }
        reply.body = Array(input.prefix(length))
        input.removeFirst(length)
        return reply
    }

    private func receive() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        input += chunk[..<count]
        return true
    }
}
