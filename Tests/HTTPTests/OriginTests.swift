import Foundation
import TestSupport
import Testing

/// The origin itself, over a bare socket: what other suites stand on.
@Suite struct OriginTests {
    @Test func answersAsToldAndRemembersWhatItWasAsked() async throws {
        let origin = try Origin()
        origin.on("/a", .ok([1, 2, 3]), .status(503, [("Retry-After", "7")]))
        let answer = try exchange(
            origin.port, "GET /a?q=1 HTTP/1.1\r\nX-One: 1\r\n\r\nGET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n")
        #expect(
            answer.contains("HTTP/1.1 200 Status\r\nContent-Length: 3\r\nContent-Type: image/png\r\n\r\n\u{1}\u{2}"))
        #expect(answer.contains("HTTP/1.1 503 Status\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n"))
        #expect(answer.contains("HTTP/1.1 404 Status"))
        let seen = await origin.requests(atLeast: 3)
        #expect(seen.map(\.target) == ["/a?q=1", "/a", "/b"])
        #expect(seen[0]["x-one"] == "1")
        #expect(seen.allSatisfy { $0.connection == 0 })
        await origin.allConnectionsClosed()
    }

    @Test func holdsABodyBackAtAGate() async throws {
        let origin = try Origin()
        let gate = Gate()
        origin.on("/slow", .gated([65, 66, 67], after: 1, at: gate))
        let port = origin.port
        async let answer = Task.detached { try exchange(port, "GET /slow HTTP/1.1\r\n\r\n") }.value
        await gate.reached()
        gate.open()
        #expect(try await answer.hasSuffix("\r\n\r\nABC"))
    }

    @Test func resetsAConnection() throws {
        let origin = try Origin()
        origin.on("/reset", .cut([1, 2, 3, 4], after: 2, by: .reset))
        #expect(throws: SocketError.self) {
            _ = try exchange(origin.port, "GET /reset HTTP/1.1\r\n\r\n", shutsDown: false)
        }
    }

    @Test func listensOnSeveralAddresses() async throws {
        let origin = try Origin(addresses: ["127.0.0.1", "127.0.0.2"])
        _ = try exchange(origin.port, "GET / HTTP/1.1\r\n\r\n", address: "127.0.0.2")
        #expect(await origin.requests(atLeast: 1)[0].address == "127.0.0.2")
    }
}

struct SocketError: Error { var errno: Int32 }

/// A new connection, as a descriptor that the caller closes.
func connected(to port: Int, address: String = "127.0.0.1") throws -> Int32 {
    let fd = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = UInt16(port).bigEndian
    inet_pton(AF_INET, address, &name.sin_addr)
    let result = withUnsafePointer(to: &name) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(fd, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard result == 0 else {
        close(fd)
        throw SocketError(errno: errno)
    }
    return fd
}

/// Sends text over a new connection and reads until its end.
func exchange(
    _ port: Int, _ text: String, address: String = "127.0.0.1", shutsDown: Bool = true
) throws -> String {
    let fd = try connected(to: port, address: address)
    defer { close(fd) }
    _ = Array(text.utf8).withUnsafeBytes { send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if shutsDown { shutdown(fd, Int32(SHUT_WR)) }
    var answer: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = recv(fd, &chunk, chunk.count, 0)
        guard count >= 0 else { throw SocketError(errno: errno) }
        if count == 0 { break }
        answer.append(contentsOf: chunk[..<count])
    }
    return String(decoding: answer, as: UTF8.self)
}
