import Testing

@testable import Larder

@Suite struct CoalescerTests {
    /// A door that work waits behind and a test opens.
    final class Door: Sendable {
        private let body = ResponseBody()
        func open() { body.finish() }
        func pass() async throws(ImageError) { _ = try await body.next() }
    }

    @Test func thoseWhoComeWhileItRunsShareOneResult() async throws {
        let coalescer = Coalescer<String, Int>()
        let door = Door()
        let runs = Lock(0)
        let work: Coalescer<String, Int>.Work = { (_) throws(ImageError) in
            let run = runs.withLock { count -> Int in
                count += 1
                return count
            }
            try await door.pass()
            return run
        }
        let first = coalescer.join("a", priority: .normal, work: work)
        let second = coalescer.join("a", priority: .normal, work: work)
        #expect(!first.joined)
        #expect(second.joined)
        door.open()
        #expect(try await coalescer.wait(first) == 1)
        #expect(try await coalescer.wait(second) == 1)
        #expect(coalescer.count == 0)
        let third = coalescer.join("a", priority: .normal, work: work)
        #expect(try await coalescer.wait(third) == 2)
    }

    @Test func oneWhoLeavesDoesNotDisturbTheOthers() async throws {
        let coalescer = Coalescer<String, Int>()
        let door = Door()
        let first = coalescer.join("a", priority: .normal) { (_) throws(ImageError) in
            try await door.pass()
            return 7
        }
        let second = coalescer.join("a", priority: .normal) { (_) in 8 }
        let leaving = Task { try await coalescer.wait(first) }
        leaving.cancel()
        await #expect(throws: ImageError.self) { try await leaving.value }
        door.open()
        #expect(try await coalescer.wait(second) == 7)
    }

    @Test func theLastToLeaveCancelsTheWork() async throws {
        let coalescer = Coalescer<String, Int>()
        let door = Door()
        let (outcomes, report) = AsyncStream.makeStream(of: String.self)
        let ticket = coalescer.join("a", priority: .normal) { (_) throws(ImageError) in
            do throws(ImageError) {
                try await door.pass()
                report.yield("finished")
            } catch {
                report.yield(error.code)
                throw error
            }
            return 1
        }
        let waiting = Task { try await coalescer.wait(ticket) }
        waiting.cancel()
        await #expect(throws: ImageError.self) { try await waiting.value }
        #expect(await outcomes.first { _ in true } == "cancelled")
        #expect(coalescer.count == 0)
    }

    @Test func aFlightIsAsUrgentAsTheMostUrgentOfItsWaiters() async throws {
        let coalescer = Coalescer<String, ImagePriority>()
        let door = Door()
        let work: Coalescer<String, ImagePriority>.Work = { (priority) throws(ImageError) in
            try await door.pass()
            return priority.value
        }
        let prefetch = coalescer.join("a", priority: .veryLow, work: work)
        let visible = coalescer.join("a", priority: .high, work: work)
        coalescer.setPriority(.veryHigh, of: prefetch)
        coalescer.leave(visible)
        door.open()
        #expect(try await coalescer.wait(prefetch) == .veryHigh)
    }

    @Test func urgencyPassesThroughEveryFloor() async throws {
        let upper = Coalescer<String, ImagePriority>()
        let lower = Coalescer<String, ImagePriority>()
        let door = Door()
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let ticket = upper.join("picture", priority: .veryLow) { (priority) throws(ImageError) in
            let fetch = lower.join("bytes", following: priority) { (priority) throws(ImageError) in
                begin.yield()
                try await door.pass()
                return priority.value
            }
            return try await lower.wait(fetch)
        }
        _ = await begun.first { _ in true }
        upper.setPriority(.high, of: ticket)
        door.open()
        #expect(try await upper.wait(ticket) == .high)
    }
}
