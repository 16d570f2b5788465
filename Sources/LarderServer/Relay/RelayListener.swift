import Dispatch
import Foundation
import Glibc
import Larder

/// A plain HTTP/1.1 server on loopback for the ``Relay``: a thread a connection, requests with bodies.
package final class RelayListener: Sendable {
    package let port: Int
    private let socket: Int32
    private let relay: Relay
    private let isStopped = Lock(false)

    private static let maxHead = 128 << 10
    private static let maxBody = 16 << 20

    /// Listens on 127.0.0.1 and answers until ``stop()``.
    ///
    /// - Parameter port: 0 lets the system choose.
    /// - Throws: ``ImageError/unreachable(_:)`` where the port cannot be had.
    package init(relay: Relay, port: Int) throws(ImageError) {
        self.relay = relay
        socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var on: Int32 = 1
        setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(clamping: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = self.socket
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                bind(socket, name, length) == 0 && listen(socket, 512) == 0 && getsockname(socket, name, &length) == 0
            }
        }
        guard isBound else {
            let reason = String(cString: strerror(errno))
            if socket >= 0 { close(socket) }
            throw .unreachable(.init("cannot listen on 127.0.0.1, port \(port): \(reason)", isTransient: false))
        }
        self.port = Int(UInt16(bigEndian: address.sin_port))
        Thread { [self] in accept() }.start()
    }

    /// Accepts nothing more; connections that are open end after their next answer.
    package func stop() {
        isStopped.withLock { stopped in
            // Under the lock: whoever sees it stopped closes the socket, and the number may then be another's.
            // 2 is SHUT_RDWR, which the importer does not show in a release build.
            if !stopped { shutdown(socket, 2) }
            stopped = true
        }
    }

    private func accept() {
        while !isStopped.withLock({ $0 }) {
            let connection = Glibc.accept(socket, nil, nil)
            guard connection >= 0 else {
                if errno == EMFILE || errno == ENFILE { usleep(10_000) }
                continue
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            var timeout = timeval(tv_sec: 60, tv_usec: 0)
            setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
            let thread = Thread { [self] in
                serve(connection)
                close(connection)
            }
            thread.stackSize = 512 << 10
            thread.start()
        }
        close(socket)
    }

    // MARK: One connection

    private func serve(_ connection: Int32) {
        var input: [UInt8] = []
        while !isStopped.withLock({ $0 }) {
            guard let (request, keepsOpen) = read(connection, &input) else { return }
            let answer = wait(request)
            guard write(connection, answer, request.method, keepsOpen), keepsOpen else { return }
        }
    }

    private func wait(_ request: Relay.Request) -> Relay.Answer {
        let done = DispatchSemaphore(value: 0)
        let answer = Lock<Relay.Answer?>(nil)
        Task { [relay] in
            let found = await relay.answer(request)
            answer.withLock { $0 = found }
            done.signal()
        }
        done.wait()
        return answer.withLock { $0 } ?? Relay.Answer(status: 500, fields: [:], body: [])
    }

    private func read(_ connection: Int32, _ input: inout [UInt8]) -> (Relay.Request, keepsOpen: Bool)? {
        var searched = 0
        var headEnd: Int?
        while true {
            if input.count >= 4 {
                headEnd = (max(0, searched - 3)..<input.count - 3).first { at in
                    input[at] == 13 && input[at + 1] == 10 && input[at + 2] == 13 && input[at + 3] == 10
                }
            }
            if headEnd != nil { break }
            searched = input.count
            guard input.count < Self.maxHead, receive(connection, &input) else { return nil }
        }
        guard let headEnd else { return nil }
        let lines = String(decoding: input[..<headEnd], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3, words[1].hasPrefix("/"), words[2].hasPrefix("HTTP/1.") else { return nil }
        var fields = HTTPFields()
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            fields.append(String(line[..<colon]), String(value))
        }
        // Chunked requests are not needed by any test suite; what cannot be framed ends the connection.
        guard !fields.contains("transfer-encoding") else { return nil }
        let length = fields.first("content-length").map { Int($0) ?? -1 } ?? 0
        guard length >= 0, length <= Self.maxBody else { return nil }
        let bodyStart = headEnd + 4
        while input.count < bodyStart + length { guard receive(connection, &input) else { return nil } }
        let request = Relay.Request(
            method: String(words[0]), target: String(words[1]), fields: fields,
            body: Array(input[bodyStart..<bodyStart + length]))
        input.removeFirst(bodyStart + length)
        let closes = words[2] == "HTTP/1.0" || fields["connection"]?.lowercased().contains("close") == true
        return (request, !closes)
    }

    private func receive(_ connection: Int32, _ input: inout [UInt8]) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = recv(connection, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            input += buffer[..<count]
            return true
        }
    }

    private func write(_ connection: Int32, _ answer: Relay.Answer, _ method: String, _ keepsOpen: Bool) -> Bool {
        var head = "HTTP/1.1 \(answer.status) \r\n"
        for field in answer.fields.fields where !field.name.equalsIgnoringCase("content-length") {
            head += "\(field.name): \(field.value)\r\n"
        }
        if ![204, 304].contains(answer.status) { head += "Content-Length: \(answer.length ?? answer.body.count)\r\n" }
        if !keepsOpen { head += "Connection: close\r\n" }
        let bytes = Array((head + "\r\n").utf8) + (method == "HEAD" ? [] : answer.body)
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}
