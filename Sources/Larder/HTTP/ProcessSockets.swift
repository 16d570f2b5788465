import Glibc

/// The connected TCP sockets of this process at one moment: they tell a slow server from an answer that lies unread,
/// which URLSession cannot.
///
/// Only looks; takes nothing out of any socket. Some 2 µs a descriptor.
struct ProcessSockets {
    /// A socket in which bytes wait.
    struct Unread: Hashable {
        var descriptor: Int32
        var localPort: UInt16
        var bytes: Int32
    }

    private struct Socket {
        var peerPort: UInt16
        var unread: Unread
    }

    private var sockets: [Socket] = []

    init() {
        guard let directory = opendir("/proc/self/fd") else { return }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let descriptor = Int32(name), let peerPort = Self.port(descriptor, getpeername) else { continue }
            var bytes: Int32 = 0
            guard ioctl(descriptor, UInt(FIONREAD), &bytes) == 0 else { continue }
            let localPort = Self.port(descriptor, getsockname) ?? 0
            sockets.append(
                Socket(
                    peerPort: peerPort, unread: Unread(descriptor: descriptor, localPort: localPort, bytes: bytes)))
        }
    }

    /// Whether a connection to that port stands.
    func isConnected(port: UInt16) -> Bool { sockets.contains { $0.peerPort == port } }

    /// The sockets to that port in which bytes wait.
    func unread(port: UInt16) -> Set<Unread> {
        Set(sockets.filter { $0.peerPort == port && $0.unread.bytes > 0 }.map(\.unread))
    }

    private typealias NameCall = (
        Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?
    ) -> Int32

    /// The port at one end, or nil where it is no connected IP socket.
    private static func port(_ descriptor: Int32, _ call: NameCall) -> UInt16? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            let result = storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(descriptor, $0, &length) }
            guard result == 0 else { return nil }
            switch Int32(storage.pointee.ss_family) {
            case AF_INET:
                return storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin_port)
                }
            case AF_INET6:
                return storage.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                    UInt16(bigEndian: $0.pointee.sin6_port)
                }
            default: return nil
            }
        }
    }
}
