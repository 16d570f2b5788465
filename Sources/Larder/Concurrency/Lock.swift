import Glibc

/// A mutual exclusion over a value, for leaves only: never hold it across a call out.
///
/// A pthread mutex, because ThreadSanitizer reports false races under `Synchronization.Mutex` on Linux.
package final class Lock<Value>: @unchecked Sendable {
    // Sendable: `value` is only touched between lock and unlock of `mutex`, and `withLock` lets neither escape
    // unless the result itself is Sendable by the caller's own declaration.
    private var value: Value
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    package init(_ value: sending Value) {
        self.value = value
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard MemoryLayout<Value>.size > 0 else {
            // ThreadSanitizer takes a change of a `Void`, which has no bytes, for one of the object's head.
            var nothing = value
            return try body(&nothing)
        }
        return try body(&value)
    }
}
