import Glibc
import Larder

/// Entry files whose bytes have been read through and found right, so that later answers may be sent by the kernel
/// unseen. Bounded: what has not been asked for in a while is checked again.
package final class VerifiedEntries: Sendable {
    /// A file as it was: what changes any byte of it changes one of these.
    package struct Identity: Sendable, Hashable {
        var device: UInt64
        var inode: UInt64
        var size: Int64
        var modified: Int64
        var changed: Int64

        package init?(descriptor: Int32) {
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { return nil }
            func nanoseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec) }
            device = UInt64(status.st_dev)
            inode = UInt64(status.st_ino)
            size = Int64(status.st_size)
            modified = nanoseconds(status.st_mtim)
            changed = nanoseconds(status.st_ctim)
        }
    }

    private struct State {
        // Two generations: the older one goes as a whole when the younger is full.
        var young: Set<Identity> = []
        var old: Set<Identity> = []
    }

    private let capacity: Int
    private let state = Lock(State())

    /// - Parameter capacity: files remembered at most.
    package init(capacity: Int = 65_536) { self.capacity = max(2, capacity) }

    package func contains(_ identity: Identity) -> Bool {
        state.withLock { state in
            if state.young.contains(identity) { return true }
            guard state.old.remove(identity) != nil else { return false }
            insert(identity, into: &state)
            return true
        }
    }

    package func insert(_ identity: Identity) { state.withLock { insert(identity, into: &$0) } }

    private func insert(_ identity: Identity, into state: inout State) {
        if state.young.count >= capacity / 2 {
            state.old = state.young
            state.young = []
        }
        state.young.insert(identity)
    }
}
