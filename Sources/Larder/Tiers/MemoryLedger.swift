import Foundation

/// What the memory tier holds, to the byte: NSCache, the policy that says who goes, and those who went but may
/// still be shown. Owned by one lock.
struct MemoryLedger {
    /// The store. It is given no limits and no costs: its own order of eviction is cheapest and newest first, and
    /// insertion with a cost takes O(n).
    private let store = NSCache<PolicyNode, Bitmap>()
    private var policy: Sieve
    private let byteLimit: Int
    private let countLimit: Int

    private(set) var bytes = 0
    private(set) var count = 0
    private(set) var evictions = 0

    /// Evicted, still in the index: found again as long as somebody shows the picture.
    private let lingering = PolicyQueue()

    init(byteLimit: Int, countLimit: Int) {
        self.byteLimit = byteLimit
        self.countLimit = countLimit
        policy = Sieve(capacity: byteLimit)
    }

    /// What a change took out. It is released outside of the lock, since giving back pixels takes time.
    struct Departures {
        /// Evicted by the policy: they linger in the index.
        var evicted: [(node: MemoryNode, bitmap: Bitmap?)] = []
        /// Lingered until nobody showed them any more: to be taken out of the index.
        var dead: [MemoryNode] = []
    }

    /// Admits `node`, or admits it again after it was evicted, and evicts what has to go for it.
    ///
    /// What is larger than the limit lingers without being held.
    mutating func admit(_ node: MemoryNode, _ bitmap: Bitmap) -> Departures {
        var departures = Departures()
        sweep(into: &departures)
        guard !node.isDiscarded else { return departures }
        if let queue = node.queue {
            guard queue === lingering else { return departures }
            lingering.remove(node)
        }
        guard node.cost <= byteLimit, countLimit > 0 else {
            lingering.push(node)
            return departures
        }
        while bytes > byteLimit - node.cost || count >= countLimit {
            guard let victim = policy.victim() as? MemoryNode else { break }
            departures.evicted.append((victim, victim.bitmap))
            forget(victim)
            evictions += 1
            lingering.push(victim)
        }
        policy.admit(node)
        store.setObject(bitmap, forKey: node, cost: 0)
        node.isHeld.store(true, ordering: .relaxed)
        bytes += node.cost
        count += 1
        return departures
    }

    /// Lets go of a node that is out of the index, for good. Gives back its bitmap, to be released outside.
    mutating func discard(_ node: MemoryNode) -> Bitmap? {
        node.isDiscarded = true
        let bitmap = node.bitmap
        guard let queue = node.queue else { return bitmap }
        if queue === lingering {
            lingering.remove(node)
        } else {
            policy.remove(node)
            forget(node)
        }
        return bitmap
    }

    /// Evicts everything.
    mutating func evictAll() -> Departures {
        var departures = Departures()
        while let victim = policy.victim() as? MemoryNode {
            departures.evicted.append((victim, victim.bitmap))
            forget(victim)
            evictions += 1
            lingering.push(victim)
        }
        return departures
    }

    /// Dropping a filled NSCache leaks its entries: called when the tier ends.
    mutating func close() {
        store.removeAllObjects()
        while policy.victim() != nil {}
        lingering.removeAll()
    }

    private mutating func forget(_ node: MemoryNode) {
        store.removeObject(forKey: node)
        node.isHeld.store(false, ordering: .relaxed)
        bytes -= node.cost
        count -= 1
    }

    /// Looks at the few that have lingered longest. Each admission adds few, so the dead never pile up.
    private mutating func sweep(into departures: inout Departures) {
        for _ in 0..<4 {
            guard let node = lingering.popOldest() as? MemoryNode else { return }
            if node.bitmap == nil {
                node.isDiscarded = true
                departures.dead.append(node)
            } else {
                lingering.push(node)
            }
        }
    }
}
