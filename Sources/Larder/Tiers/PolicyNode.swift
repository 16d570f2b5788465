import Foundation
import Synchronization

/// What a policy holds of one cached object. Also its key in NSCache, which needs an `NSObject` with a hash of
/// its own (keys that are none hash to 0): one node is equal only to itself, so that a late removal can never hit
/// the object that took its place.
class PolicyNode: NSObject, @unchecked Sendable {
    // Sendable: `uses` is atomic; the links are touched only by the owner of the policy, under its lock.

    /// A well-mixed hash of the object's name: the same name gives the same value.
    let fingerprint: UInt64
    /// In the unit of the policy's capacity.
    let cost: Int

    private let uses = Atomic<UInt8>(0)
    /// Links of the queue that holds it; written by ``PolicyQueue`` only.
    unowned(unsafe) var newer: PolicyNode?
    unowned(unsafe) var older: PolicyNode?
    unowned(unsafe) var queue: PolicyQueue?

    init(fingerprint: UInt64, cost: Int) {
        self.fingerprint = fingerprint
        self.cost = cost
    }

    override var hash: Int { Int(truncatingIfNeeded: fingerprint) }
    override func isEqual(_ object: Any?) -> Bool { (object as AnyObject?) === self }

    /// Notes a use. Any thread; saturates at 3, so that what is hot is only read.
    @inline(__always)
    final func touch() {
        let seen = uses.load(ordering: .relaxed)
        // A use lost in a race between two readers changes nothing that matters.
        if seen < 3 { _ = uses.weakCompareExchange(expected: seen, desired: seen + 1, ordering: .relaxed) }
    }

    /// Uses noted since they were last forgotten, 0 to 3.
    final var useCount: Int { Int(uses.load(ordering: .relaxed)) }

    /// Forgets one use.
    final func fade() {
        let seen = uses.load(ordering: .relaxed)
        if seen > 0 { _ = uses.compareExchange(expected: seen, desired: seen - 1, ordering: .relaxed) }
    }

    /// Forgets every use.
    final func forgetUses() { uses.store(0, ordering: .relaxed) }

    /// Whether a queue holds it.
    final var isQueued: Bool { queue != nil }
}
