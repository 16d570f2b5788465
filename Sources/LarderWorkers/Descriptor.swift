import Glibc

/// Plain writing to a descriptor. Calls block.
package enum Descriptor {
    /// Writes all bytes, going on after interruptions and waiting where nothing fits. Gives 0, or why it could not: an
    /// errno value.
    package static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count {
                let count = Glibc.write(descriptor, buffer.baseAddress! + done, buffer.count - done)
                if count >= 0 {
                    done += count
                } else if errno == EAGAIN {
                    var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                    poll(&room, 1, -1)
                } else if errno != EINTR {
                    return errno
                }
            }
            return 0
        }
    }
}
