import Foundation
import Larder
import LarderWorkers

/// Writes the report's lines to a file or to standard output, in the order in which they are given.
///
/// Lines that come while others are being written wait and go out together, so that a reader sees each line at
/// once and a fast job writes large pieces. Safe from any thread; writing runs on an executor of its own.
package final class ReportWriter: Sendable {
    package enum Failure: Error, Sendable, Equatable {
        /// The reader has gone (`| head`): no fault.
        case readerGone
        case unwritable(String)
    }

    private struct State {
        var pending: [UInt8] = []
        var isWriting = false
        var hasBegun = false
        var failure: Failure?
        var waiters: [Handover<Void>] = []
    }

    private let state = Lock(State())
    private let executor = BlockingExecutor(name: "larder-report", width: 1)
    private let write: @Sendable ([UInt8]) throws(Failure) -> Void
    private let close: @Sendable () -> Void
    /// As soon as this many bytes wait, `ready` waits.
    private let highWater: Int

    /// - Parameter write: called for one piece at a time.
    package init(
        highWater: Int = 1 << 20, write: @escaping @Sendable ([UInt8]) throws(Failure) -> Void,
        close: @escaping @Sendable () -> Void = {}
    ) {
        self.highWater = highWater
        self.write = write
        self.close = close
    }

    /// Writes to a descriptor, which stays open.
    package convenience init(descriptor: Int32) {
        self.init { (bytes) throws(Failure) in try Self.write(bytes, to: descriptor) }
    }

    /// Replaces the file at `path`, once there is something to be written or the job is done.
    package convenience init(path: String) throws(Failure) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw .unwritable(String(cString: strerror(errno))) }
        let isEmptied = Lock(false)
        self.init(
            write: { (bytes) throws(Failure) in
                // Pipes and devices have nothing to be emptied of.
                let isFirst = isEmptied.withLock { isEmptied in
                    defer { isEmptied = true }
                    return !isEmptied
                }
                if isFirst { _ = ftruncate(descriptor, 0) }
                try Self.write(bytes, to: descriptor)
            }, close: { _ = Glibc.close(descriptor) })
    }

    deinit { close() }

    /// Takes lines; never blocks.
    func append(_ lines: [UInt8]) {
        if !lines.isEmpty { take(lines) }
    }

    private func take(_ lines: [UInt8]) {
        let begins = state.withLock { state in
            guard state.failure == nil else { return false }
            state.hasBegun = true
            state.pending += lines
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if begins { executor.detach { [self] in drain() } }
    }

    /// Waits until few bytes wait to be written. Throws what has gone wrong.
    func ready() async throws(Failure) { try await wait { $0.pending.count < self.highWater || !$0.isWriting } }

    /// Waits until everything is written.
    ///
    /// - Parameter replaces: whether what stood in the file before goes though there is no line.
    func finish(replaces: Bool = true) async throws(Failure) {
        if replaces, !state.withLock(\.hasBegun) { take([]) }
        try await wait { !$0.isWriting }
    }

    /// What went wrong, if anything has.
    var failure: Failure? { state.withLock(\.failure) }

    private func wait(until isDone: @Sendable (State) -> Bool) async throws(Failure) {
        while true {
            await withHandover { continuation in
                let isReady = state.withLock { state in
                    if state.failure != nil || isDone(state) { return true }
                    state.waiters.append(continuation)
                    return false
                }
                if isReady { continuation.resume() }
            }
            let (done, failure) = state.withLock { (isDone($0), $0.failure) }
            if let failure { throw failure }
            if done { return }
        }
    }

    private func drain() {
        while true {
            let bytes = state.withLock { state in
                defer { state.pending = [] }
                return state.pending
            }
            var failure: Failure?
            do throws(Failure) { try write(bytes) } catch { failure = error }
            let (waiters, isOver) = state.withLock { state in
                if let failure {
                    state.failure = failure
                    state.pending = []
                }
                if state.pending.isEmpty { state.isWriting = false }
                defer { state.waiters = [] }
                return (state.waiters, !state.isWriting)
            }
            for waiter in waiters { waiter.resume() }
            if isOver { return }
        }
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(Failure) {
        let reason = Descriptor.write(bytes, to: descriptor)
        if reason == EPIPE { throw .readerGone }
        if reason != 0 { throw .unwritable(String(cString: strerror(reason))) }
    }
}
