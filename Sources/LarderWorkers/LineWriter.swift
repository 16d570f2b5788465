import Foundation
import Larder

/// Writes whole lines to a pipe, in their order. Safe from any thread; nobody waits for a full pipe but a thread of
/// the writer's own.
///
/// A line waits for the work that is ready to run before it is written: lines that come meanwhile go out with it, and
/// wake their reader once.
final class LineWriter: Sendable {
    private struct State {
        /// nil: closed, or nobody reads any more.
        var descriptor: Int32?
        var pending: [UInt8] = []
        /// Whether `drain` will run, or a thread waits for room in order to run it.
        var isScheduled = false
        var isFull = false
        var isClosing = false
        var flushes: [Handover<Void>] = []
    }

    private enum Progress { case done, full }

    private let state: Lock<State>
    private let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// Takes the descriptor over.
    ///
    /// - Parameter schedule: runs a block behind the work that is ready. By default among the threads that run tasks, so
    ///   that none more has to wake up.
    init(
        _ descriptor: Int32,
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { block in
            DispatchQueue.global().async { block() }
        }
    ) {
        self.schedule = schedule
        var status = stat()
        // A pipe's end is ours alone. Anything else may be shared with others that do not expect it to change.
        if fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO {
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        }
        state = Lock(State(descriptor: descriptor))
    }

    deinit { close() }

    /// Takes a line without its newline. It is dropped where nobody reads it.
    func write(_ line: [UInt8]) {
        let begins = state.withLock { state in
            guard state.descriptor != nil, !state.isClosing else { return false }
            state.pending += line
            state.pending.append(10)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        if begins { schedule { self.drain() } }
    }

    /// Closes the descriptor; lines that are not written yet are dropped.
    func close() {
        state.withLock { state in
            state.isClosing = true
            // Who waits for room still looks at it: it is closed when that thread comes back.
            if !state.isFull { Self.end(&state) }
        }
    }

    /// Returns when every line is written, or nobody reads them any more.
    func flush() async {
        await withHandover { continuation in
            let isDone = state.withLock { state in
                if state.isScheduled { state.flushes.append(continuation) }
                return !state.isScheduled
            }
            if isDone { continuation.resume() }
        }
    }

    private func drain() {
        let (full, flushes) = state.withLock { state -> (Int32?, [Handover<Void>]) in
            state.isFull = false
            if let descriptor = state.descriptor {
                if state.isClosing {
                    Self.end(&state)
                } else {
                    // Under the lock, which keeps the descriptor open: this never waits.
                    state.isFull = Self.write(&state.pending, to: descriptor) == .full
                    if state.isFull { return (descriptor, []) }
                }
            }
            state.isScheduled = false
            defer { state.flushes = [] }
            return (nil, state.flushes)
        }
        for flush in flushes { flush.resume() }
        guard let full else { return }
        let thread = Thread {
            var room = pollfd(fd: full, events: Int16(POLLOUT), revents: 0)
            while poll(&room, 1, -1) < 0, errno == EINTR {}
            self.drain()
        }
        thread.name = "larder-line-writer"
        thread.stackSize = 1 << 18
        thread.start()
    }

    private static func write(_ bytes: inout [UInt8], to descriptor: Int32) -> Progress {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.write(descriptor, $0.baseAddress! + done, $0.count - done)
            }
            if count > 0 {
                done += count
            } else if errno == EAGAIN {
                bytes.removeFirst(done)
                return .full
            } else if errno != EINTR {
                // The reader has gone: whoever looks after it notices.
                break
            }
        }
        bytes.removeAll(keepingCapacity: bytes.count <= 64 << 10)
        return .done
    }

    private static func end(_ state: inout State) {
        if let descriptor = state.descriptor { Glibc.close(descriptor) }
        state.descriptor = nil
        state.pending = []
    }
}
