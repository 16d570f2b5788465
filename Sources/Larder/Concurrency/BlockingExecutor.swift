import Foundation

/// A fixed number of threads for work that blocks: file system, decoding. Such work never runs on the
/// cooperative pool, nor inside an actor.
///
/// Work starts in the order in which it was submitted. Work whose task was cancelled before it began is not
/// run. Threads are started on demand, up to `width`, and end when the executor is released.
package final class BlockingExecutor: Sendable {
    private let pool: Pool

    /// - Parameters:
    ///   - name: the threads' name, for debuggers.
    ///   - width: the greatest number of threads, at least 1.
    package init(name: String, width: Int) {
        pool = Pool(name: name, width: max(1, width))
    }

    deinit { pool.close() }

    /// Runs `body` on one of the threads and gives its result.
    ///
    /// - Throws: what `body` throws, or ``ImageError/cancelled(_:)`` where the task was cancelled before it began.
    package func run<Success: Sendable>(
        _ body: @escaping @Sendable () throws(ImageError) -> Success
    ) async throws(ImageError) -> Success {
        let ticket = Ticket()
        let result: Result<Success, ImageError> = await withTaskCancellationHandler {
            await withHandover { continuation in
                pool.submit {
                    guard ticket.begin() else {
                        return continuation.resume(returning: .failure(.cancelled(.init("cancelled before it began"))))
                    }
                    do throws(ImageError) {
                        continuation.resume(returning: .success(try body()))
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
            }
        } onCancel: {
            ticket.cancel()
        }
        return try result.get()
    }

    /// Runs `body` that cannot fail, even when the task was cancelled: for clean-up.
    package func perform<Success: Sendable>(_ body: @escaping @Sendable () -> Success) async -> Success {
        await withHandover { continuation in
            pool.submit { continuation.resume(returning: body()) }
        }
    }

    /// Runs `body` some time later, for clean-up that nobody waits for.
    package func detach(_ body: @escaping @Sendable () -> Void) { pool.submit(body) }

    private final class Ticket: Sendable {
        private let cancelled = Lock(false)
        func cancel() { cancelled.withLock { $0 = true } }
        func begin() -> Bool { !cancelled.withLock { $0 } }
    }

    private final class Pool: @unchecked Sendable {
        // Sendable: every mutable field is touched only while `condition` is locked.
        private let condition = NSCondition()
        private let name: String
        private let width: Int
        private var work: [@Sendable () -> Void] = []
        private var head = 0
        private var threads = 0
        private var idle = 0
        private var closed = false

        init(name: String, width: Int) {
            self.name = name
            self.width = width
        }

        func submit(_ body: @escaping @Sendable () -> Void) {
            condition.lock()
            work.append(body)
            let starts = work.count - head > idle && threads < width
            if starts { threads += 1 }
            let wakes = idle > 0
            condition.unlock()
            // Unlocked first: who wakes up would only wait for the lock. Threads that are busy look for more anyway.
            if wakes { condition.signal() }
            guard starts else { return }
            let thread = Thread { [self] in serve() }
            thread.name = name
            thread.stackSize = 1 << 20
            thread.start()
        }

        /// Lets the threads end once nothing is left to do.
        func close() {
            condition.lock()
            closed = true
            condition.broadcast()
            condition.unlock()
        }

        private func serve() {
            condition.lock()
            while true {
                var body = next()
                if body != nil {
                    condition.unlock()
                    body?()
                    // Released without the lock: with it may go the last reference to the executor, whose end locks.
                    body = nil
                    condition.lock()
                } else if closed {
                    break
                } else {
                    idle += 1
                    condition.wait()
                    idle -= 1
                }
            }
            threads -= 1
            condition.unlock()
        }

        private func next() -> (@Sendable () -> Void)? {
            guard head < work.count else { return nil }
            let body = work[head]
            work[head] = {}
            head += 1
            if head == work.count {
                work.removeAll(keepingCapacity: true)
                head = 0
            } else if head > 1024 {
                work.removeSubrange(..<head)
                head = 0
            }
            return body
        }
    }
}
