import TestSupport
import Testing

/// What tests wait with: a cancelled one must not hang the process of its room.
@Suite struct ReleaseTests {
    @Test func goesOnOnceItIsResumedBeforeOrAfterItWaits() async {
        await withRelease { $0.resume() }
        let gate = Gate()
        async let reached: Void = gate.reached()
        gate.open()
        gate.wait()
        await reached
    }

    @Test func aCancelledTaskWaitsNoMore() async {
        let gate = Gate()
        let task = Task { await gate.reached(by: 2) }
        task.cancel()
        await task.value
        // Whoever comes later finds one who has gone.
        gate.open()
        gate.wait()
        gate.wait()
    }
}
