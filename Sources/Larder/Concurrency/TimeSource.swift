import Dispatch
import Foundation

/// Where time comes from. Injected everywhere, so that no test waits for the clock.
package protocol TimeSource: Sendable {
    /// Wall-clock time: what HTTP and the disk tier reckon with. May jump.
    var now: Timestamp { get }
    /// Nanoseconds that never go back: what deadlines reckon with.
    var monotonic: UInt64 { get }
    /// Suspends for `seconds`; throws `CancellationError` when the task is cancelled.
    func sleep(seconds: Double) async throws
}

/// The clocks of the system.
package struct SystemTime: TimeSource {
    package init() {}

    package var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    package var monotonic: UInt64 { DispatchTime.now().uptimeNanoseconds }

    package func sleep(seconds: Double) async throws {
        guard seconds > 0 else { return try Task.checkCancellation() }
        try await Task.sleep(nanoseconds: UInt64(min(seconds, 1e9) * 1e9))
    }
}
