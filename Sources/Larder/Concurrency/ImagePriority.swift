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
            let changes = followers.withLock { Array($0.values) }
            tell { value in for change in changes { change(value) } }
        }
    }

    /// Tells the value, and again until it has not changed meanwhile: of two that tell at once the last one counts.
    private func tell(_ change: (ImagePriority) -> Void) {
        var told: ImagePriority
        repeat {
            told = value
            change(told)
        } while told != value
    }

    /// Calls `change` with the value, at once, and then with each new one, from whichever thread sets it, until the
    /// result is released.
    package func follow(_ change: @escaping @Sendable (ImagePriority) -> Void) -> Follower {
        let follower = Follower { [weak self] id in
            self?.followers.withLock { _ = $0.removeValue(forKey: id) }
        }
        followers.withLock { $0[ObjectIdentifier(follower)] = change }
        tell(change)
        return follower
    }

    /// Ends the following when it is released.
    package final class Follower: Sendable {
        private let end: @Sendable (ObjectIdentifier) -> Void

        fileprivate init(_ end: @escaping @Sendable (ObjectIdentifier) -> Void) { self.end = end }

        deinit { end(ObjectIdentifier(self)) }
    }
}
