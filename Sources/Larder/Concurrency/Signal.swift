import Glibc

/// A value under a mutex that threads can wait on, by a clock that never jumps.
package final class Signal<Value>: @unchecked Sendable {
    // Sendable: `value` is only touched while `mutex` is locked.
    private var value: Value
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    package init(_ value: sending Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition.initialize(to: pthread_cond_t())
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Runs `body` on the value; where it answers true all who wait look again.
    package func update(_ body: (inout Value) -> Bool) {
        pthread_mutex_lock(mutex)
        if body(&value) { pthread_cond_broadcast(condition) }
        pthread_mutex_unlock(mutex)
    }

    package func read<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&value)
    }

    /// Waits until `body` gives something. `body` also tells until when (monotonic nanoseconds, nil: for ever) it is
    /// worth waiting; it is asked again then, and whenever the value changes.
    package func wait<Result>(_ body: (inout Value) -> (result: Result?, until: UInt64?)) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            let (result, until) = body(&value)
            if let result { return result }
            if let until {
                var deadline = timespec(
                    tv_sec: Int(until / 1_000_000_000), tv_nsec: Int(until % 1_000_000_000))
                pthread_cond_timedwait(condition, mutex, &deadline)
            } else {
                pthread_cond_wait(condition, mutex)
            }
        }
    }

    /// Nanoseconds of the clock that ``wait(_:)`` goes by.
    package static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
