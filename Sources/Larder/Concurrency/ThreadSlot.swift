import Glibc

/// A pointer that every thread has for itself; nil at first.
struct ThreadSlot: Sendable {
    private let key: pthread_key_t

    /// - Parameter free: called with a thread's pointer, where it is not nil, when that thread ends.
    init(freeing free: (@convention(c) (UnsafeMutableRawPointer?) -> Void)? = nil) {
        var key = pthread_key_t()
        let status = pthread_key_create(&key, free)
        precondition(status == 0, "no thread-specific data is left to be had (\(status))")
        self.key = key
    }

    var pointer: UnsafeMutableRawPointer? {
        get { pthread_getspecific(key) }
        nonmutating set { pthread_setspecific(key, newValue) }
    }
}
