import Glibc
import Larder

/// Where a manifest's bytes come from. Calls block: they belong on a ``BlockingExecutor``.
package protocol ByteSource: Sendable {
    /// Appends the next bytes, some 64 KiB; appends nothing at the end.
    func read(into buffer: inout [UInt8]) throws(ManifestError)
    /// Whether the next `read` would answer at once.
    var isReady: Bool { get }
    /// Wakes a `read` that waits, which then throws ``ManifestError/stopped``. Safe from any thread.
    func stop()
}

/// A file or standard input.
package final class FileSource: ByteSource {
    private let descriptor: Int32
    private let closes: Bool
    /// A pipe whose write end `stop` closes the wait with.
    private let wake: (read: Int32, write: Int32)

    /// - Parameter path: `-` is standard input.
    package init(path: String) throws(ManifestError) {
        closes = path != "-"
        var opened: Int32 = 0
        if path != "-" {
            opened = open(path, O_RDONLY | O_CLOEXEC)
            guard opened >= 0 else { throw .unreadable(String(cString: strerror(errno))) }
            var facts = stat()
            if fstat(opened, &facts) == 0, facts.st_mode & S_IFMT == S_IFDIR {
                close(opened)
                throw .unreadable("it is a directory")
            }
        }
        descriptor = opened
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            if path != "-" { close(opened) }
            throw .unreadable(String(cString: strerror(errno)))
        }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        wake = (ends[0], ends[1])
    }

    deinit {
        if closes { close(descriptor) }
        close(wake.read)
        close(wake.write)
    }

    package func stop() {
        var byte: UInt8 = 1
        _ = write(wake.write, &byte, 1)
    }

    package var isReady: Bool {
        var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&ready, 1, 0) != 0
    }

    package func read(into buffer: inout [UInt8]) throws(ManifestError) {
        while true {
            var waits = [
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: wake.read, events: Int16(POLLIN), revents: 0),
            ]
            if poll(&waits, 2, -1) < 0, errno != EINTR { throw .unreadable(String(cString: strerror(errno))) }
            if waits[1].revents != 0 { throw .stopped }
            guard waits[0].revents != 0 else { continue }
            let start = buffer.count
            let size = 64 << 10
            buffer.append(contentsOf: repeatElement(0, count: size))
            let count = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress! + start, size) }
            let reason = errno
            buffer.removeLast(size - max(0, count))
            if count >= 0 { return }
            if reason == EINTR || reason == EAGAIN { continue }
            throw .unreadable(String(cString: strerror(reason)))
        }
    }
}

/// Bytes that are there already.
package final class MemorySource: ByteSource {
    private let rest: Lock<ArraySlice<UInt8>>
    private let chunk: Int

    /// - Parameter chunk: how many bytes one `read` gives: small ones show what breaks at borders.
    package init(_ bytes: [UInt8], chunk: Int = 64 << 10) {
        rest = Lock(bytes[...])
        self.chunk = chunk
    }

    package convenience init(_ text: String, chunk: Int = 64 << 10) { self.init(Array(text.utf8), chunk: chunk) }

    package var isReady: Bool { true }
    package func stop() { rest.withLock { $0 = [] } }
    package func read(into buffer: inout [UInt8]) {
        rest.withLock {
            buffer += $0.prefix(chunk)
            $0 = $0.dropFirst(chunk)
        }
    }
}
