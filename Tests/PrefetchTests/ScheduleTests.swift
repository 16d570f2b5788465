import LarderWorkers
import Testing

@testable import LarderPrefetch

struct ScheduleTests {
    private func item(_ sequence: Int, _ host: String, priority: Int = 0) -> PrefetchJob.Item {
        PrefetchJob.Item(
            row: Row(number: sequence + 1, url: "http://\(host)/\(sequence)", priority: priority), sequence: sequence,
            identity: RowIdentity(high: UInt64(sequence), low: 0, host: host))
    }

    private func drain(_ schedule: inout Schedule, now: Double = 0) -> [Int] {
        var taken: [Int] = []
        while let item = schedule.next(now: now) { taken.append(item.sequence) }
        return taken
    }

    @Test func letsHostsTakeTurns() {
        var schedule = Schedule()
        schedule.parallel = 100
        schedule.most = 100
        for (sequence, host) in ["a", "a", "a", "b", "b", "c"].enumerated() {
            let answer1 = schedule.add(item(sequence, host), now: 0)
            #expect(answer1)
        }
        #expect(drain(&schedule) == [0, 3, 5, 1, 4, 2])
        #expect(schedule.underWay == 6)
        #expect(schedule.waiting == 0)
    }

    @Test func forgetsHostsThatNeverAnswered() {
        var schedule = Schedule()
        for host in 0..<60_000 {
            let now = Double(host) * 0.01
            for probe in 0..<Schedule.probes { _ = schedule.add(item(3 * host + probe, "h\(host)"), now: now) }
            while let item = schedule.next(now: now) { _ = schedule.finish(item, .timedOut, now: now) }
        }
        #expect(schedule.hostCount < 20_000)
    }

    @Test func takesHigherPrioritiesFirst() {
        var schedule = Schedule()
        for (sequence, priority) in [0, 5, -3, 5, 100_000].enumerated() {
            _ = schedule.add(item(sequence, "h\(sequence)", priority: priority), now: 0)
        }
        #expect(drain(&schedule) == [4, 1, 3, 0, 2])
    }

    @Test func asksAnUnknownHostLittleAndAKnownOneMore() {
        var schedule = Schedule()
        for sequence in 0..<20 { _ = schedule.add(item(sequence, "a"), now: 0) }
        #expect(drain(&schedule) == [0, 1, 2])
        #expect(schedule.finish(item(0, "a"), .answered, now: 0).isEmpty)
        #expect(drain(&schedule) == [3, 4, 5, 6])
        #expect(schedule.underWay == 6)
    }

    @Test func letsRowsThatWaitForSilentHostsLeaveTheirPlace() {
        var schedule = Schedule()
        schedule.parallel = 2
        schedule.most = 5
        for sequence in 0..<20 { _ = schedule.add(item(sequence, "h\(sequence)"), now: 0) }
        #expect(drain(&schedule, now: 0) == [0, 1])
        #expect(drain(&schedule, now: 0.2).isEmpty)
        #expect(drain(&schedule, now: 0.25) == [2, 3])
        #expect(drain(&schedule, now: 0.5) == [4])
        #expect(drain(&schedule, now: 5).isEmpty, "no more than `most` at once")
        // One that has left its place and ends gives way to one.
        _ = schedule.finish(item(0, "h0"), .answered, now: 5)
        #expect(drain(&schedule, now: 5) == [5])
    }

    @Test func rowsOfAHostThatAnswersKeepTheirPlaceHoweverLongTheyTake() {
        var schedule = Schedule()
        schedule.parallel = 2
        schedule.most = 8
        for sequence in 0..<10 { _ = schedule.add(item(sequence, "a"), now: 0) }
        #expect(drain(&schedule, now: 0) == [0, 1])
        _ = schedule.finish(item(0, "a"), .answered, now: 0.1)
        #expect(drain(&schedule, now: 0.1) == [2])
        #expect(drain(&schedule, now: 60).isEmpty)
    }

    @Test func givesUpAHostThatLetsEverythingTimeOut() {
        var schedule = Schedule()
        for sequence in 0..<10 { _ = schedule.add(item(sequence, "dead"), now: 0) }
        #expect(drain(&schedule) == [0, 1, 2])
        #expect(schedule.finish(item(0, "dead"), .timedOut, now: 60).isEmpty)
        #expect(schedule.finish(item(1, "dead"), .unknown, now: 60).isEmpty)
        #expect(schedule.finish(item(2, "dead"), .timedOut, now: 60).isEmpty)
        #expect(drain(&schedule) == [3], "one more probe")
        #expect(schedule.finish(item(3, "dead"), .timedOut, now: 60).map(\.sequence) == [4, 5, 6, 7, 8, 9])
        #expect(schedule.waiting == 0)
        let answer2 = schedule.add(item(10, "dead"), now: 61)
        #expect(!answer2, "it is not asked while it rests")
        let answer3 = schedule.add(item(11, "dead"), now: 91)
        #expect(answer3)
        let answer4 = schedule.add(item(12, "dead"), now: 91)
        #expect(answer4)
        #expect(drain(&schedule, now: 91) == [11], "one row finds out how it is")
        #expect(schedule.finish(item(11, "dead"), .answered, now: 92).isEmpty)
        #expect(drain(&schedule, now: 92) == [12])
    }

    @Test func neverGivesUpAHostThatHasAnswered() {
        var schedule = Schedule()
        for sequence in 0..<10 { _ = schedule.add(item(sequence, "a"), now: 0) }
        _ = schedule.next(now: 0)
        _ = schedule.finish(item(0, "a"), .answered, now: 0)
        for sequence in 1..<9 {
            let taken = schedule.next(now: 0)
            #expect(taken?.sequence == sequence)
            #expect(schedule.finish(item(sequence, "a"), .timedOut, now: 0).isEmpty)
        }
    }

    @Test func queuesInOrder() {
        var fifo = Fifo<Int>()
        var next = 0
        for round in 0..<3000 {
            fifo.append(round * 2)
            fifo.append(round * 2 + 1)
            #expect(fifo.first == next)
            let popped = fifo.popFirst()
            #expect(popped == next)
            next += 1
        }
        #expect(fifo.count == 3000)
        while let value = fifo.popFirst() {
            #expect(value == next)
            next += 1
        }
        #expect(next == 6000 && fifo.isEmpty)
    }
}
