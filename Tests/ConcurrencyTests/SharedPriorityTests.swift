import TestSupport
import Testing

@testable import Larder

@Suite struct SharedPriorityTests {
    @Test func whoFollowsIsToldTheValueAndEachChange() {
        let priority = SharedPriority(.low)
        let told = Lock<[ImagePriority]>([])
        let follower = priority.follow { value in told.withLock { $0.append(value) } }
        priority.value = .high
        priority.value = .high
        #expect(told.withLock { $0 } == [.low, .high])
        withExtendedLifetime(follower) {}
    }

    /// Raised by somebody else while it is told: the last thing told is the last value.
    @Test func whatChangesWhileItIsToldIsToldAgain() {
        let priority = SharedPriority(.low)
        let told = Lock<[ImagePriority]>([])
        let follower = priority.follow { value in
            if value == .low { priority.value = .veryHigh }
            told.withLock { $0.append(value) }
        }
        #expect(told.withLock { $0.last } == .veryHigh)
        withExtendedLifetime(follower) {}
    }
}
