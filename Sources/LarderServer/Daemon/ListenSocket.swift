import Glibc
import Larder

/// A listening TCP socket.
package struct ListenSocket: Sendable {
    package let descriptor: Int32
    /// Where it listens: `127.0.0.1:8080`, `[::1]:8080`.
    package let address: String
    package let port: Int
    /// Whether only this machine can reach it.
    package let isLoopback: Bool

    /// Takes over a socket that listens already.
    package init?(descriptor: Int32) {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let found = withUnsafeMutablePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard found == 0 else { return nil }
        self.descriptor = descriptor
        let name = withUnsafePointer(to: &storage) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { SocketName($0) }
        }
        port = name.port
        isLoopback = name.isLoopback
        address = name.host.contains(":") ? "[\(name.host)]:\(name.port)" : "\(name.host):\(name.port)"
    }

    /// Binds to an address or a name and listens.
    ///
    /// - Parameter port: 0 lets the system choose.
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` with the system's reason.
    package static func bind(host: String, port: Int) throws(ImageError) -> ListenSocket {
        func failure(_ reason: String) -> ImageError {
            .cacheUnavailable(.init("cannot listen on \(host), port \(port): \(reason)"))
        }
        guard (0...65_535).contains(port) else { throw failure("a port is a number from 0 to 65535") }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0, let first = list else { throw failure(String(cString: gai_strerror(status))) }
        defer { freeaddrinfo(list) }
        // IPv4 first: `localhost` is mostly asked for by it.
        var best = first
        var next: UnsafeMutablePointer<addrinfo>? = first
        while let info = next {
            if info.pointee.ai_family == AF_INET {
                best = info
                break
            }
            next = info.pointee.ai_next
        }
        let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(best.pointee.ai_family, type, 0)
        guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard Glibc.bind(descriptor, best.pointee.ai_addr, best.pointee.ai_addrlen) == 0, listen(descriptor, 4096) == 0,
            let socket = ListenSocket(descriptor: descriptor)
        else {
            let code = errno
            close(descriptor)
            throw failure(
                String(cString: strerror(code)) + (code == EADDRINUSE ? "; choose another with --port" : ""))
        }
        return socket
    }
}

/// A socket address, read.
package struct SocketName: Sendable, Hashable {
    package var host = ""
    package var port = 0
    package var isLoopback = false

    package init(_ address: UnsafePointer<sockaddr>) {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { name in
                withUnsafePointer(to: name.pointee.sin_addr) {
                    _ = inet_ntop(AF_INET, $0, &text, socklen_t(text.count))
                }
                port = Int(UInt16(bigEndian: name.pointee.sin_port))
                isLoopback = UInt32(bigEndian: name.pointee.sin_addr.s_addr) >> 24 == 127
            }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { name in
                withUnsafePointer(to: name.pointee.sin6_addr) {
                    _ = inet_ntop(AF_INET6, $0, &text, socklen_t(text.count))
                }
                port = Int(UInt16(bigEndian: name.pointee.sin6_port))
            }
        case AF_UNIX:
            host = "unix"
            isLoopback = true
            return
        default: return
        }
        host = text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
        if host == "::1" { isLoopback = true }
    }
}
