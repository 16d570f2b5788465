import TestSupport
import Testing

@testable import Larder

@Suite(.timeLimit(.minutes(1))) struct BlockingExecutorTests {
    private final class Owner: Sendable {
        /// Tells when it goes; that is after what stands before it.
        final class End: Sendable {
            let tell: @Sendable () -> Void
            init(_ tell: @escaping @Sendable () -> Void) { self.tell = tell }
            deinit { tell() }
        }

        let executor = BlockingExecutor(name: "test", width: 1)
        let end: End
        init(_ tell: @escaping @Sendable () -> Void) { end = End(tell) }
    }

    /// An executor that ends on a thread of its own does not wait for itself.
    @Test func workMayHoldTheLastReferenceToItsExecutor() async {
        let gate = Gate()
        await withHandover { continuation in
            let owner = Owner { continuation.resume() }
            owner.executor.detach {
                gate.wait()
                withExtendedLifetime(owner) {}
            }
            Task {
                await gate.reached()
                gate.open()
            }
        }
    }

    @Test func workRunsInOrderAndNoMoreAtOnceThanItIsWide() async {
        let executor = BlockingExecutor(name: "test", width: 1)
        let seen = Lock<[Int]>([])
        for number in 0..<50 { executor.detach { seen.withLock { $0.append(number) } } }
        await executor.perform {}
        #expect(seen.withLock { $0 } == Array(0..<50))
    }

    @Test func whatWasCancelledBeforeItBeganIsNotRun() async {
        let executor = BlockingExecutor(name: "test", width: 1)
        let gate = Gate()
        executor.detach { gate.wait() }
        await gate.reached()
        let ran = Lock(false)
        let task = Task { try await executor.run { () throws(ImageError) in ran.withLock { $0 = true } } }
        task.cancel()
        gate.open()
        await #expect { try await task.value } throws: { ($0 as? ImageError)?.code == "cancelled" }
        #expect(!ran.withLock { $0 })
    }
}
