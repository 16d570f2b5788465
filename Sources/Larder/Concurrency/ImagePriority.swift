import Synchronization

/// How soon work should be done. Work of a higher priority always overtakes waiting work of a lower one.
public enum ImagePriority: Int, Sendable, Hashable, Comparable, CaseIterable {
    /// Prefetching to disk.
    case veryLow
    /// Prefetching what will soon be seen.
    case low
    /// The default.
    case normal
    /// What is on screen.
    case high
    /// What the user looks at.
    case veryHigh

    public static func < (left: ImagePriority, right: ImagePriority) -> Bool { left.rawValue < right.rawValue }
}

/// The priority of a piece of work that may be raised and lowered while it waits or runs.
///
/// Whoever queues the work reads ``value`` again each time it chooses what goes next, so that a prefetch which a
/// visible row has joined counts as visible at once.
package final class SharedPriority: Sendable {
    private let raw: Atomic<Int>

    package init(_ value: ImagePriority = .normal) { raw = Atomic(value.rawValue) }

    package var value: ImagePriority {
        get { ImagePriority(rawValue: raw.load(ordering: .relaxed)) ?? .normal }
        set { raw.store(newValue.rawValue, ordering: .relaxed) }
    }
}
