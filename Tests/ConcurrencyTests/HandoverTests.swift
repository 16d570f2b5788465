import Foundation
import Larder
import Synchronization
import Testing

/// Under ThreadSanitizer these also show that what is handed over is not taken for raced for.
@Suite struct HandoverTests {
    /// What a thread fills in and the task reads.
    private final class Letter: Sendable {
        let text: String
        init(_ text: String) { self.text = text }
    }

    /// Relaxed, so that it orders nothing but itself.
    private final class Flag: Sendable {
        private let raised = Atomic(false)
        func raise() { raised.store(true, ordering: .relaxed) }
        func wait() { while !raised.load(ordering: .relaxed) { sched_yield() } }
    }

    @Test func bringsWhatIsGivenBeforeTheTaskSuspends() async {
        let given = Flag()
        let letter = await withHandover { (handover: Handover<Letter>) in
            Thread {
                handover.resume(returning: Letter("early"))
                given.raise()
            }.start()
            given.wait()
        }
        #expect(letter.text == "early")
    }

    @Test func bringsWhatIsGivenLater() async {
        let letter = await withHandover { (handover: Handover<Letter>) in
            Thread { handover.resume(returning: Letter("late")) }.start()
        }
        #expect(letter.text == "late")
    }

    @MainActor @Test func staysOnItsActor() async {
        await withHandover { (handover: Handover<Void>) in
            MainActor.assertIsolated()
            handover.resume()
        }
        MainActor.assertIsolated()
    }
}
