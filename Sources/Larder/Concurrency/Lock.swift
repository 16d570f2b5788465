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

/// What a ``Lock`` is made of, for who must not even count a reference: plain pointers, freed by hand.
///
/// Mutex and value lie together in cache lines of their own: who takes the lock has the value with it, and
/// neighbours on other threads are not disturbed.
struct LockCell<Value>: @unchecked Sendable {
    // Sendable: `value` is only touched between lock and unlock of `mutex`, and `withLock` lets neither escape
    // unless the result itself is Sendable by the caller's own declaration.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    init(_ value: sending Value) {
        let alignment = max(64, MemoryLayout<Value>.alignment)
        let offset =
            (MemoryLayout<pthread_mutex_t>.size + MemoryLayout<Value>.alignment - 1)
            & ~(MemoryLayout<Value>.alignment - 1)
        let size = (offset + MemoryLayout<Value>.size + alignment - 1) & ~(alignment - 1)
        let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: alignment)
        mutex = block.bindMemory(to: pthread_mutex_t.self, capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        self.value = (block + offset).bindMemory(to: Value.self, capacity: 1)
        self.value.initialize(to: value)
    }

    /// Once, when nobody uses it any more.
    func destroy() {
        value.deinitialize(count: 1)
        pthread_mutex_destroy(mutex)
        UnsafeMutableRawPointer(mutex).deallocate()
    }

    func withLock<Result, Failure: Error>(_ body: (inout Value) throws(Failure) -> Result) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
