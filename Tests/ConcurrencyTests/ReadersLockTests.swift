import Dispatch
import Testing

@testable import Larder

@Suite struct ReadersLockTests {
    /// Two halves that are the same number wherever nobody is in the middle of a change.
    struct Pair {
        var left = 0
        var right = 0
    }

    @Test func nobodySeesHalfAChange() {
        let lock = ReadersLock(Pair())
        defer { lock.destroy() }
        DispatchQueue.concurrentPerform(iterations: 8) { thread in
            for turn in 0..<20_000 {
                if thread < 2, turn % 10 == 0 {
                    lock.change { pair in
                        pair.left += 1
                        pair.right += 1
                    }
                } else {
                    let isWhole = lock.read { ($0.left == $0.right, nil) }
                    if !isWhole { Issue.record("half a change was seen") }
                }
            }
        }
        #expect(lock.read { ($0.left, nil) } == 4_000, "no change is lost")
        #expect(lock.counts == (0, 0))
    }

    @Test func hitsAndMissesAreCountedExactly() {
        let lock = ReadersLock(0)
        defer { lock.destroy() }
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
            for turn in 0..<4_000 {
                if thread == 0, turn % 100 == 0 { lock.change { $0 += 1 } }
                lock.read { _ in ((), turn % 4 == 0 ? true : turn % 4 == 1 ? false : nil) }
            }
            lock.count(isHit: true)
            lock.count(isHit: false)
        }
        #expect(lock.counts == (4_004, 4_004))
        #expect(lock.read { ($0, nil) } == 40)
    }
}
