import Testing

@testable import Larder

@Suite struct GateTests {
    @Test func theHighestPriorityGoesNextThenTheFirstToCome() async throws {
        let gate = Gate(capacity: 1)
        let hold = ResponseBody()
        let order = Lock<[String]>([])
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let holder = Task {
            try await gate.run { () throws(ImageError) in
                start.yield()
                _ = try await hold.next()
            }
        }
        _ = await started.first { _ in true }
        let raised = SharedPriority(.veryLow)
        let rows: [(String, SharedPriority)] = [
            ("a", .init(.low)), ("b", .init(.normal)), ("c", .init(.normal)), ("d", raised),
        ]
        var tasks: [Task<Void, any Error>] = []
        for (index, (name, priority)) in rows.enumerated() {
            tasks.append(Task { try await gate.run(priority: priority) { order.withLock { $0.append(name) } } })
            while gate.waiting <= index, !Task.isCancelled { await Task.yield() }
        }
        raised.value = .veryHigh
        hold.finish()
        try await holder.value
        for task in tasks { try await task.value }
        #expect(order.withLock { $0 } == ["d", "b", "c", "a"])
    }

    @Test func aCancelledWaiterLeavesNothingBehind() async throws {
        let gate = Gate(capacity: 1)
        let hold = ResponseBody()
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let holder = Task {
            try await gate.run { () throws(ImageError) in
                start.yield()
                _ = try await hold.next()
            }
        }
        _ = await started.first { _ in true }
        let waiter = Task { try await gate.run {} }
        while gate.waiting == 0, !Task.isCancelled { await Task.yield() }
        waiter.cancel()
        await #expect(throws: ImageError.self) { try await waiter.value }
        #expect(gate.waiting == 0)
        hold.finish()
        try await holder.value
        try await gate.run(cost: 5) {}
    }

    /// Half of the gate is taken; what waits first is too large for the other half.
    @Test func theMoreUrgentPassesWhatDoesNotFitAtOnce() async throws {
        for isRaisedLater in [false, true] {
            let gate = Gate(capacity: 4, places: 2)
            try await gate.acquire(cost: 2)
            let large = Task { try await gate.run(cost: 3, priority: SharedPriority(.low)) {} }
            while gate.waiting == 0, !Task.isCancelled { await Task.yield() }
            let priority = SharedPriority(isRaisedLater ? .low : .high)
            let small = Task { try await gate.run(priority: priority) {} }
            if isRaisedLater {
                while gate.waiting < 2, !Task.isCancelled { await Task.yield() }
                priority.value = .high
            }
            try await small.value
            #expect(gate.waiting == 1)
            gate.release(cost: 2)
            try await large.value
        }
    }

    @Test func onlySoManyAreInsideWhateverTheyCost() async throws {
        let gate = Gate(capacity: 100, places: 2)
        try await gate.acquire()
        try await gate.acquire()
        let third = Task { try await gate.run {} }
        while gate.waiting == 0, !Task.isCancelled { await Task.yield() }
        gate.release()
        try await third.value
        gate.release()
        #expect(gate.waiting == 0)
    }
}
