import Foundation
import Synchronization

/// Who goes first when the memory tier is full. It knows costs and use, and nothing of images: the simulation in
/// `Benchmarks/` compiles this very file.
///
/// Not thread-safe: whoever owns it locks. Only ``PolicyNode/touch()`` may be called from any thread at any time,
/// which is why a hit takes no lock of the policy's.
protocol EvictionPolicy {
    /// - Parameter capacity: the greatest total cost, for policies that divide it.
    init(capacity: Int)
    /// Takes charge of a node that is in no queue.
    mutating func admit(_ node: PolicyNode)
    /// Lets go of a node that it has charge of.
    mutating func remove(_ node: PolicyNode)
    /// Lets go of the node that can best be missed; nil where there is none.
    mutating func victim() -> PolicyNode?
}

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
    fileprivate(set) unowned(unsafe) var newer: PolicyNode?
    fileprivate(set) unowned(unsafe) var older: PolicyNode?
    fileprivate(set) unowned(unsafe) var queue: PolicyQueue?

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

/// A doubly linked queue of nodes, newest to oldest, that retains what it holds. Every operation is O(1).
final class PolicyQueue {
    private(set) unowned(unsafe) var newest: PolicyNode?
    private(set) unowned(unsafe) var oldest: PolicyNode?
    private(set) var count = 0
    /// Of all nodes.
    private(set) var cost = 0

    init() {}
    deinit { removeAll() }

    func push(_ node: PolicyNode) {
        precondition(node.queue == nil, "a node is in one queue at a time")
        _ = Unmanaged.passRetained(node)
        node.queue = self
        node.newer = nil
        node.older = newest
        newest?.newer = node
        newest = node
        if oldest == nil { oldest = node }
        count += 1
        cost += node.cost
    }

    /// Takes out a node that this queue holds.
    @discardableResult
    func remove(_ node: PolicyNode) -> PolicyNode {
        precondition(node.queue === self, "the node is in another queue")
        if let newer = node.newer { newer.older = node.older } else { newest = node.older }
        if let older = node.older { older.newer = node.newer } else { oldest = node.newer }
        node.newer = nil
        node.older = nil
        node.queue = nil
        count -= 1
        cost -= node.cost
        return Unmanaged.passUnretained(node).takeRetainedValue()
    }

    func popOldest() -> PolicyNode? { oldest.map { remove($0) } }

    func removeAll() { while popOldest() != nil {} }
}
