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

    /// Whether the left is less urgent.
    public static func < (left: ImagePriority, right: ImagePriority) -> Bool { left.rawValue < right.rawValue }
}

/// The priority of a piece of work that may be raised and lowered while it waits or runs.
///
/// Whoever queues the work reads ``value`` again each time it chooses what goes next, so that a prefetch which a
/// visible row has joined counts as visible at once.
package final class SharedPriority: Sendable {
    private let raw: Atomic<Int>
    private let followers = Lock<[ObjectIdentifier: @Sendable (ImagePriority) -> Void]>([:])

    package init(_ value: ImagePriority = .normal) { raw = Atomic(value.rawValue) }

    package var value: ImagePriority {
        get { ImagePriority(rawValue: raw.load(ordering: .relaxed)) ?? .normal }
        set {
            guard raw.exchange(newValue.rawValue, ordering: .relaxed) != newValue.rawValue else { return }
            for change in followers.withLock({ Array($0.values) }) { change(newValue) }
        }
    }

    /// Calls `change` with each new value, from whichever thread sets it, until the result is released.
    package func follow(_ change: @escaping @Sendable (ImagePriority) -> Void) -> Follower {
        let follower = Follower { [weak self] id in
            self?.followers.withLock { _ = $0.removeValue(forKey: id) }
        }
        followers.withLock { $0[ObjectIdentifier(follower)] = change }
        return follower
    }

    /// Ends the following when it is released.
    package final class Follower: Sendable {
        private let end: @Sendable (ObjectIdentifier) -> Void

        fileprivate init(_ end: @escaping @Sendable (ObjectIdentifier) -> Void) { self.end = end }

        deinit { end(ObjectIdentifier(self)) }
    }
}
