import Foundation
import Larder

/// Holds threads back until a test lets them go; the test can await that one has arrived.
public final class Gate: @unchecked Sendable {
    // Sendable: every mutable field is touched only while `condition` is locked.
    private let condition = NSCondition()
    private var isOpen = false
    private var arrivals = 0
    private var waiters: [(count: Int, release: Release)] = []

    public init() {}

    /// Lets everybody pass, now and later.
    public func open() {
        condition.lock()
        isOpen = true
        condition.broadcast()
        condition.unlock()
    }

    /// Blocks the calling thread until the gate is open.
    public func wait() {
        condition.lock()
        arrivals += 1
        let reached = waiters.filter { $0.count <= arrivals }
        waiters.removeAll { $0.count <= arrivals }
        condition.unlock()
        for waiter in reached { waiter.release.resume() }
        condition.lock()
        while !isOpen { condition.wait() }
        condition.unlock()
    }

    /// Returns once so many threads have come to the gate, or the task was cancelled.
    public func reached(by count: Int = 1) async {
        await withRelease { release in
            condition.lock()
            let here = arrivals >= count
            if !here { waiters.append((count, release)) }
            condition.unlock()
            if here { release.resume() }
        }
    }
}
