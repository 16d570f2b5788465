import Larder

/// Threads for what a server does for its clients, with a bounded queue before them: beyond it, clients are told to
/// come back rather than to wait.
package final class WorkPool: Sendable {
    private let executor: BlockingExecutor
    private let width: Int
    private let limit: Int
    private let inside = Lock(0)

    /// - Parameters:
    ///   - width: threads.
    ///   - queue: how much may wait for one.
    package init(name: String, width: Int, queue: Int) {
        executor = BlockingExecutor(name: name, width: width)
        self.width = max(1, width)
        limit = max(1, width) + max(0, queue)
    }

    package var running: Int { inside.withLock { min($0, width) } }
    package var waiting: Int { inside.withLock { max(0, $0 - width) } }

    /// - Throws: ``ImageError/refused(_:_:)`` with `busy` where the queue is full, and what `body` throws.
    package func run<Success: Sendable>(
        _ body: @escaping @Sendable () throws(ImageError) -> Success
    ) async throws(ImageError) -> Success {
        let isAdmitted = inside.withLock { inside -> Bool in
            guard inside < limit else { return false }
            inside += 1
            return true
        }
        guard isAdmitted else { throw .refused(.busy, .init("too much waits already", retryAfter: 2)) }
        defer { inside.withLock { $0 -= 1 } }
        return try await executor.run(body)
    }
}
