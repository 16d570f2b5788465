import Foundation
import Larder

/// A small web server on loopback that serves a few images from memory: what the demonstration prefetches from.
package final class DemoOrigin: Sendable {
    /// A file that is served.
    package struct File: Sendable {
        package var bytes: [UInt8]
        package var contentType: String
        package init(bytes: [UInt8], contentType: String) {
            self.bytes = bytes
            self.contentType = contentType
        }
    }

    package let port: Int
    private let listener: Int32
    private let files: [String: File]

    /// Listens on a port that the system chooses and serves until it is released.
    package init(_ files: [String: File]) throws(ImageError) {
        self.files = files
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                bind(listener, pointer, length) == 0 && listen(listener, 128) == 0
                    && getsockname(listener, pointer, &length) == 0
            }
        }
        guard listener >= 0, isListening else {
            throw .unreachable(.init("no port on 127.0.0.1: \(String(cString: strerror(errno)))"))
        }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        let thread = Thread { [listener, files] in Self.accept(on: listener, files) }
        thread.name = "larder-demo"
        thread.start()
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    package func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    private static func accept(on listener: Int32, _ files: [String: File]) {
        while true {
            let connection = Glibc.accept(listener, nil, nil)
            guard connection >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return
            }
            _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
            let thread = Thread {
                serve(connection, files)
                close(connection)
            }
            thread.stackSize = 256 << 10
            thread.start()
        }
    }

    /// Answers request after request on one connection.
    private static func serve(_ connection: Int32, _ files: [String: File]) {
        var input: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = input.firstRange(of: end) {
                let line = input[..<range.lowerBound].prefix { $0 != 0x0D }
                input.removeSubrange(..<range.upperBound)
                let words = String(decoding: line, as: UTF8.self).split(separator: " ")
                guard words.count == 3, send(answer(String(words[1]), files), to: connection) else { return }
                continue
            }
            guard input.count < 64 << 10 else { return }
            let count = piece.withUnsafeMutableBytes { recv(connection, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { return }
            input += piece[..<count]
        }
    }

    private static func answer(_ path: String, _ files: [String: File]) -> [UInt8] {
        guard let file = files[path] else {
            return Array("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".utf8)
        }
        let head = "HTTP/1.1 200 OK\r\nContent-Type: \(file.contentType)\r\nContent-Length: \(file.bytes.count)\r\n"
        return Array((head + "Cache-Control: max-age=86400\r\n\r\n").utf8) + file.bytes
    }

    private static func send(_ bytes: [UInt8], to connection: Int32) -> Bool {
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let count = Glibc.send(
                    connection, buffer.baseAddress! + done, buffer.count - done, Int32(MSG_NOSIGNAL))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { return false }
                done += count
            }
            return true
        }
    }
}
