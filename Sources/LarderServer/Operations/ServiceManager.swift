import Glibc

/// What systemd is told and what it hands over (sd_notify(3), sd_listen_fds(3)), without libsystemd.
package struct ServiceManager: Sendable {
    private let environment: [String: String]

    package init(environment: [String: String]) { self.environment = environment }

    /// Whether somebody listens to notifications.
    package var isPresent: Bool { !(environment["NOTIFY_SOCKET"] ?? "").isEmpty }

    /// Microseconds between keep-alives that were asked of this process; nil where none are.
    package var watchdogInterval: UInt64? {
        guard let interval = environment["WATCHDOG_USEC"].flatMap({ UInt64($0) }), interval > 0 else { return nil }
        if let pid = environment["WATCHDOG_PID"], pid != "\(getpid())" { return nil }
        return interval
    }

    /// Sends assignments such as `READY=1`, one a line. False where nobody listens or it could not be sent.
    @discardableResult
    package func notify(_ state: String) -> Bool {
        guard let path = environment["NOTIFY_SOCKET"], let first = path.utf8.first else { return false }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var name = Array(path.utf8)
        guard first == UInt8(ascii: "/") || first == UInt8(ascii: "@"),
            name.count < MemoryLayout.size(ofValue: address.sun_path)
        else { return false }
        // An abstract socket's name begins with NUL.
        if first == UInt8(ascii: "@") { name[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = MemoryLayout.offset(of: \sockaddr_un.sun_path)! + name.count
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let message = Array(state.utf8)
        let sent = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(descriptor, message, message.count, Int32(MSG_NOSIGNAL), $0, socklen_t(length))
            }
        }
        return sent == message.count
    }

    /// The listening sockets that were handed over, from descriptor 3 on; empty where none were, or they were meant
    /// for another process.
    package var listenDescriptors: [Int32] {
        guard environment["LISTEN_PID"] == "\(getpid())",
            let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...64).contains(count)
        else { return [] }
        return (3..<3 + count).filter { descriptor in
            var accepts: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length) == 0, accepts == 1 else {
                return false
            }
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            let flags = fcntl(descriptor, F_GETFL)
            _ = fcntl(descriptor, F_SETFL, flags | O_NONBLOCK)
            return true
        }
    }
}
