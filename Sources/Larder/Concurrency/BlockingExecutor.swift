import Foundation

/// A fixed number of threads for work that blocks: file system, decoding. Such work never runs on the
/// cooperative pool, nor inside an actor.
///
/// Work starts in the order in which it was submitted. Work whose task was cancelled before it began is not
/// run. Threads are started on demand, one a processor, and up to `width` where those wait for their devices; they
/// end when the executor is released.
///
/// A task that prefers ``tasks`` runs on the threads themselves, between its own blocking work and that of others:
/// what it gives to ``run(_:)`` is then a call, not a journey to another thread and back.
package final class BlockingExecutor: Sendable {
    private let threads: ExecutorThreads

    /// - Parameters:
    ///   - name: the threads' name, for debuggers.
    ///   - width: the greatest number of threads, at least 1.
    package convenience init(name: String, width: Int) {
        self.init(name: name, width: width, processors: ProcessInfo.processInfo.activeProcessorCount, patience: 2000)
    }

    /// - Parameters:
    ///   - processors: how many of the threads run before one is seen to wait.
    ///   - patience: how long, in microseconds, nothing may be taken up until that is seen.
    package init(name: String, width: Int, processors: Int, patience: UInt32) {
        threads = ExecutorThreads(
            name: name, width: max(1, width), processors: max(1, processors), patience: patience)
    }

    deinit { threads.close() }

    /// What a task prefers that does its blocking work here.
    package var tasks: any TaskExecutor { threads }

    /// Runs `body` on one of the threads and gives its result.
    ///
    /// - Throws: what `body` throws, or ``ImageError/cancelled(_:)`` where the task was cancelled before it began.
    package func run<Success: Sendable>(
        _ body: @escaping @Sendable () throws(ImageError) -> Success
    ) async throws(ImageError) -> Success {
        if threads.areCurrent {
            guard !Task.isCancelled else { throw .cancelled(.init("cancelled before it began")) }
            return try ExecutorThreads.blocking(body)
        }
        let ticket = Ticket()
        let result: Result<Success, ImageError> = await withTaskCancellationHandler {
            await withHandover { continuation in
                threads.submit {
                    guard ticket.begin() else {
                        return continuation.resume(returning: .failure(.cancelled(.init("cancelled before it began"))))
                    }
                    let result: Result<Success, ImageError>
                    do throws(ImageError) {
                        result = .success(try ExecutorThreads.blocking(body))
                    } catch {
                        result = .failure(error)
                    }
                    continuation.resume(returning: result)
                }
            }
        } onCancel: {
            ticket.cancel()
        }
        return try result.get()
    }

    /// Runs `body` that cannot fail, even when the task was cancelled: for clean-up.
    package func perform<Success: Sendable>(_ body: @escaping @Sendable () -> Success) async -> Success {
        if threads.areCurrent { return ExecutorThreads.blocking(body) }
        return await withHandover { continuation in
            threads.submit { continuation.resume(returning: ExecutorThreads.blocking(body)) }
        }
    }

    /// Runs `body` some time later, for clean-up that nobody waits for.
    package func detach(_ body: @escaping @Sendable () -> Void) {
        threads.submit { ExecutorThreads.blocking(body) }
    }

    private final class Ticket: Sendable {
        private let cancelled = Lock(false)
        func cancel() { cancelled.withLock { $0 = true } }
        func begin() -> Bool { !cancelled.withLock { $0 } }
    }
}
