import CImageCodecs

/// Ends a decode from another thread: the decoder looks at it once a row or scan and then throws
/// ``ImageError/cancelled(_:)``. Safe to use from any thread.
public final class AbortFlag: @unchecked Sendable {
    // Sendable: the pointer never changes, and what it points to is only touched by atomic operations in C.
    let raw: UnsafeMutablePointer<Int32>

    /// A flag that is not raised.
    public init() {
        raw = .allocate(capacity: 1)
        raw.initialize(to: 0)
    }

    deinit { raw.deallocate() }

    /// Raises the flag; it stays raised.
    public func abort() { larder_flag_raise(raw) }

    /// Whether it was raised.
    public var isAborted: Bool { larder_flag_is_raised(raw) }
}
