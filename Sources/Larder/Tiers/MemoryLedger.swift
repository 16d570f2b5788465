import Foundation

/// What the memory tier holds, to the byte: NSCache, the policy that says who goes, and those who went but may
/// still be shown. Owned by one lock.
struct MemoryLedger {
    /// The store. It is given no limits and no costs: its own order of eviction is cheapest and newest first, and
    /// insertion with a cost takes O(n). It has no delegate, so it calls nobody while our lock is held.
    private let store = NSCache<PolicyNode, DecodedImage>()
    private var policy = S3FIFO()
    private let byteLimit: Int
    private let countLimit: Int

    private(set) var bytes = 0
    private(set) var count = 0
    private(set) var evictions = 0

    /// Evicted, still in the index: found again as long as somebody shows the picture.
    private let lingering = PolicyQueue()

    /// Those held that will expire, in the order in which they came, which is that of their expiry but for the few
    /// that were admitted again.
    private let ages = PolicyQueue()

    init(byteLimit: Int, countLimit: Int) {
        self.byteLimit = byteLimit
        self.countLimit = countLimit
    }

    /// What a change took out. It is released outside of the lock, since giving back pixels takes time.
    struct Departures {
        /// Evicted by the policy: they linger in the index.
        var evicted: [(node: MemoryNode, image: DecodedImage?)] = []
        /// Expired, or lingered until nobody showed them any more: to be taken out of the index.
        var dead: [(node: MemoryNode, image: DecodedImage?)] = []
    }

    /// Admits `node`, or admits it again after it was evicted, and evicts first what has to go for it, so that the
    /// limits hold at every moment. What is larger than the limit lingers without being held.
    ///
    /// - Parameter now: monotonic nanoseconds; 0 where nothing expires.
    mutating func admit(_ node: MemoryNode, _ image: DecodedImage, now: UInt64) -> Departures {
        var departures = Departures()
        sweep(into: &departures)
        expire(now, into: &departures)
        guard !node.isDiscarded, !node.isHeld.load(ordering: .relaxed) else { return departures }
        node.queue?.remove(node)
        guard node.cost <= byteLimit, countLimit > 0 else {
            lingering.push(node)
            return departures
        }
        while bytes > byteLimit - node.cost || count >= countLimit {
            guard evictOne(into: &departures) else { break }
        }
        policy.admit(node)
        store.setObject(image, forKey: node, cost: 0)
        node.isHeld.store(true, ordering: .relaxed)
        if let age = node.age { ages.push(age) }
        bytes += node.cost
        count += 1
        return departures
    }

    /// Lets go of a node that is out of the index, for good. Gives back its image, to be released outside.
    mutating func discard(_ node: MemoryNode) -> DecodedImage? {
        let image = node.image
        node.isDiscarded = true
        if node.isHeld.load(ordering: .relaxed) {
            policy.remove(node)
            release(node)
        } else {
            node.queue?.remove(node)
        }
        return image
    }

    /// Evicts everything.
    mutating func evictAll() -> Departures {
        var departures = Departures()
        while evictOne(into: &departures) {}
        return departures
    }

    /// Dropping a filled NSCache leaks its entries: called when the tier ends.
    func close() { store.removeAllObjects() }

    private mutating func expire(_ now: UInt64, into departures: inout Departures) {
        while let oldest = ages.oldest {
            let node = unsafeDowncast(oldest, to: MemoryNode.Age.self).node
            guard node.expiry <= now else { return }
            departures.dead.append((node, node.image))
            node.isDiscarded = true
            policy.remove(node)
            release(node)
        }
    }

    private mutating func evictOne(into departures: inout Departures) -> Bool {
        guard let victim = policy.victim() else { return false }
        let node = unsafeDowncast(victim, to: MemoryNode.self)
        departures.evicted.append((node, node.image))
        release(node)
        evictions += 1
        lingering.push(node)
        return true
    }

    private mutating func release(_ node: MemoryNode) {
        store.removeObject(forKey: node)
        node.isHeld.store(false, ordering: .relaxed)
        if let age = node.age { ages.remove(age) }
        bytes -= node.cost
        count -= 1
    }

    /// Looks at the few that have lingered longest: twice as many as an admission adds as a rule, so the dead never
    /// pile up.
    private mutating func sweep(into departures: inout Departures) {
        for _ in 0..<min(4, lingering.count) {
            guard let oldest = lingering.popOldest() else { return }
            let node = unsafeDowncast(oldest, to: MemoryNode.self)
            if node.isDead {
                node.isDiscarded = true
                departures.dead.append((node, nil))
            } else {
                lingering.push(node)
            }
        }
    }
}
