import Foundation
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

    /// Two pieces of blocking work and what lies between run on one thread: nothing is sent back and forth.
    @Test func aTaskThatPrefersTheThreadsStaysOnThem() async {
        let executor = BlockingExecutor(name: "test", width: 3)
        let threads = await Task(executorPreference: executor.tasks) {
            var threads: Set<pthread_t> = []
            for _ in 0..<5 {
                threads.insert(await executor.perform { pthread_self() })
                threads.insert(pthread_self())
            }
            return threads
        }.value
        #expect(threads.count == 1)
        let other = await executor.perform { pthread_self() }
        #expect(other != pthread_self())
    }

    /// Returns when so many pieces of work have run at once.
    private func allAtOnce(_ count: Int, on executor: BlockingExecutor) async {
        let gate = Gate()
        for _ in 0..<count { executor.detach { gate.wait() } }
        await gate.reached(by: count)
        gate.open()
    }

    /// What a job starts waits for its thread and wakes no other, though two are idle; but for a change of threads now
    /// and then, so that others get their turn.
    @Test func whatATaskStartsRunsWhereItIs() async {
        let executor = BlockingExecutor(name: "test", width: 3, processors: 3, patience: 2000)
        await allAtOnce(3, on: executor)
        let moves = await Task(executorPreference: executor.tasks) {
            var moves = 0
            for _ in 0..<10_000 {
                let here = pthread_self()
                let there = await Task(executorPreference: executor.tasks) { pthread_self() }.value
                if there != here { moves += 1 }
            }
            return moves
        }.value
        #expect(moves < 2500)
    }

    /// Two tasks wait, each on its thread; the one that fell asleep first is let go on first, from outside.
    @Test func whatAnotherThreadLetsGoOnStaysOnItsThread() async {
        let executor = BlockingExecutor(name: "test", width: 2, processors: 2, patience: 2000)
        let waiting = Lock<[Handover<Void>]>([])
        let rounds = 500
        @Sendable func movesOfOne() async -> Int {
            await Task(executorPreference: executor.tasks) {
                var moves = 0
                for _ in 0..<rounds {
                    let here = pthread_self()
                    await withHandover { continuation in waiting.withLock { $0.append(continuation) } }
                    if pthread_self() != here { moves += 1 }
                }
                return moves
            }.value
        }
        async let first = movesOfOne()
        async let second = movesOfOne()
        for _ in 0..<rounds {
            while waiting.withLock({ $0.count < 2 }), !Task.isCancelled { await Task.yield() }
            // Time to fall asleep; without it they move now and then, which is no fault.
            usleep(100)
            let both = waiting.withLock { waiting in
                defer { waiting = [] }
                return waiting
            }
            for continuation in both { continuation.resume() }
        }
        let moves = await first + second
        #expect(moves < rounds / 2)
    }

    @Test func aThreadPassesOverWhatBelongsElsewhereUpToABound() {
        final class Place {}
        let (here, elsewhere) = (Place(), Place())
        var queue = ExecutorThreads.Queue()
        let taken = Lock<[Int]>([])
        func append(_ number: Int, _ place: Place?) {
            queue.append(.body { taken.withLock { $0.append(number) } }, place.map { ObjectIdentifier($0) })
        }
        func take() {
            if case .body(let body)? = queue.popFirst(for: ObjectIdentifier(here)) { body() }
        }
        append(0, elsewhere)
        for number in 1...40 { append(number, number.isMultiple(of: 2) ? here : nil) }
        for _ in 0...40 { take() }
        #expect(queue.isEmpty)
        // The first waits for a bounded number of others, and all others keep their order.
        let order = taken.withLock { $0 }
        #expect(order.firstIndex(of: 0) == ExecutorThreads.Queue.reach - 1)
        #expect(order.filter { $0 > 0 } == Array(1...40))
        // Where there is nothing of its own, a thread takes what is there.
        append(41, elsewhere)
        take()
        #expect(taken.withLock(\.last) == 41)
    }

    /// What a job made ready waits for its thread, but not for work that blocks it.
    @Test func whatWaitsForAThreadThatBlocksIsTakenOver() async {
        let executor = BlockingExecutor(name: "test", width: 2)
        let gate = Gate()
        let seen = Lock<[String]>([])
        await Task(executorPreference: executor.tasks) {
            let second = Task(executorPreference: executor.tasks) {
                seen.withLock { $0.append("second") }
                gate.open()
            }
            seen.withLock { $0.append("first") }
            await executor.perform { gate.wait() }
            await second.value
        }.value
        #expect(seen.withLock { $0 } == ["first", "second"])
    }

    /// Three that wait for a device, with one processor: each gets its thread, and none waits for the others.
    @Test func whereThoseThatRunOnlyWaitOthersHelp() async {
        let executor = BlockingExecutor(name: "test", width: 3, processors: 1, patience: 2000)
        await allAtOnce(3, on: executor)
    }

    /// Where work goes on, one thread a processor is enough.
    @Test func whereWorkGoesOnNoMoreRunThanThereAreProcessors() async {
        // No machine is so slow that this is long.
        let executor = BlockingExecutor(name: "test", width: 8, processors: 1, patience: 30_000_000)
        let running = Lock((now: 0, most: 0))
        for _ in 0..<2000 {
            executor.detach {
                running.withLock { running in
                    running.now += 1
                    running.most = max(running.most, running.now)
                }
                sched_yield()
                running.withLock { $0.now -= 1 }
            }
        }
        await executor.perform {}
        #expect(running.withLock { $0.most } == 1)
    }

    @Test func aTaskOnTheThreadsThatIsCancelledBeginsNoWork() async {
        let executor = BlockingExecutor(name: "test", width: 1)
        let gate = Gate()
        let task = Task(executorPreference: executor.tasks) {
            await executor.perform { gate.wait() }
            return try await executor.run { () throws(ImageError) in true }
        }
        await gate.reached()
        task.cancel()
        gate.open()
        await #expect { try await task.value } throws: { ($0 as? ImageError)?.code == "cancelled" }
    }

    /// Tasks that start each other without end leave room for what others submit.
    @Test func aThreadThatIsNeverIdleStillServesTheQueue() async {
        let executor = BlockingExecutor(name: "test", width: 1)
        let isOver = Lock(false)
        @Sendable func again() {
            Task(executorPreference: executor.tasks) { if !isOver.withLock({ $0 }) { again() } }
        }
        again()
        await executor.perform { isOver.withLock { $0 = true } }
    }

    @Test func manyTasksAndMuchWorkAtOnceAllEnd() async {
        let executor = BlockingExecutor(name: "test", width: 4)
        let count = Lock(0)
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<2000 {
                group.addTask(executorPreference: number % 3 == 0 ? nil : executor.tasks) {
                    await executor.perform { count.withLock { $0 += 1 } }
                    await Task(executorPreference: executor.tasks) {
                        await Task.yield()
                        await executor.perform { count.withLock { $0 += 1 } }
                    }.value
                }
            }
        }
        #expect(count.withLock { $0 } == 4000)
    }
}
