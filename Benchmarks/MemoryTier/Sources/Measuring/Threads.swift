import Dispatch
import Foundation

/// Monotonic seconds.
public func seconds() -> Double { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 }

/// Runs `body` on `count` threads that start together, and gives the seconds until the last one ended.
public func onThreads(_ count: Int, _ body: @escaping @Sendable (_ thread: Int) -> Void) -> Double {
    let ready = DispatchSemaphore(value: 0)
    let go = DispatchSemaphore(value: 0)
    let done = DispatchSemaphore(value: 0)
    for index in 0..<count {
        Thread {
            ready.signal()
            go.wait()
            body(index)
            done.signal()
        }.start()
    }
    for _ in 0..<count { ready.wait() }
    let start = seconds()
    for _ in 0..<count { go.signal() }
    for _ in 0..<count { done.wait() }
    return seconds() - start
}
