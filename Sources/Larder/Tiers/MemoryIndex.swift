/// Which node stands under which key: divided by hash, so that readers on many threads seldom meet at a lock.
///
/// Plain pointers, because a reference that every reader counts is one cache line for which all of them fight.
/// Its owner calls `destroy`.
struct MemoryIndex: @unchecked Sendable {
    // Sendable: `shards` is written in `init` only, and its elements are locks.

    private struct Shard {
        var table = MemoryTable()
        var hits = 0
        var misses = 0
    }

    enum Found {
        /// It is held by the tier and may be used.
        case held(DecodedImage)
        /// Something else than a plain hit: the ledger must be told.
        case other(MemoryNode)
        case nothing
    }

    /// A power of two.
    private static let width = 256
    private let shards: UnsafeBufferPointer<LockCell<Shard>>

    init() {
        let shards = UnsafeMutableBufferPointer<LockCell<Shard>>.allocate(capacity: Self.width)
        for index in shards.indices { shards.initializeElement(at: index, to: LockCell(Shard())) }
        self.shards = UnsafeBufferPointer(shards)
    }

    /// Once, when nobody uses it any more.
    func destroy() {
        for shard in shards {
            shard.withLock { $0.table.removeAll() }
            shard.destroy()
        }
        shards.deallocate()
    }

    private func shard(_ key: borrowing CacheKey) -> LockCell<Shard> {
        shards[Int(truncatingIfNeeded: key.hash.high) & (Self.width - 1)]
    }

    private func eachShard<Result>(_ body: (inout Shard) -> Result) -> [Result] { shards.map { $0.withLock(body) } }

    /// What stands under `key`. A plain hit is counted and noted at its node; the rest is the caller's.
    ///
    /// - Parameter now: monotonic nanoseconds; 0 where nothing expires.
    func find(_ key: borrowing CacheKey, now: UInt64) -> Found {
        shard(key).withLock { shard in
            guard let found = shard.table.find(key) else {
                shard.misses += 1
                return .nothing
            }
            guard let place = found._withUnsafeGuaranteedRef({ $0.use(now: now) }), let image = place.pointee.object
            else { return .other(found.takeUnretainedValue()) }
            shard.hits += 1
            return .held(image)
        }
    }

    /// Counts a hit or a miss that was more than a look.
    func count(_ key: CacheKey, hit: Bool) {
        shard(key).withLock { if hit { $0.hits += 1 } else { $0.misses += 1 } }
    }

    /// The node under `key`, noted nowhere.
    func node(_ key: CacheKey) -> MemoryNode? { shard(key).withLock { $0.table.find(key)?.takeUnretainedValue() } }

    /// Puts `node` under its key and gives back the one that it replaces.
    func put(_ node: MemoryNode) -> MemoryNode? { shard(node.facts.key).withLock { $0.table.put(node) } }

    /// Puts `node` in the place of `old`; false where that is no longer the one that stands under their key.
    func replace(_ old: MemoryNode, with node: MemoryNode) -> Bool {
        shard(old.facts.key).withLock { shard in
            guard shard.table.find(old.facts.key)?.takeUnretainedValue() === old else { return false }
            // The table lets go of `old`, the caller does not.
            _ = shard.table.put(node)
            return true
        }
    }

    func remove(_ key: CacheKey) -> MemoryNode? { shard(key).withLock { $0.table.remove(key) } }

    /// Takes out this very node, and no other that has taken its place.
    func remove(_ node: MemoryNode) {
        _ = shard(node.facts.key).withLock { shard -> MemoryNode? in
            guard shard.table.find(node.facts.key)?.takeUnretainedValue() === node else { return nil }
            return shard.table.remove(node.facts.key)
        }
    }

    /// Takes out every node whose key fits. `fits` is called without a lock held.
    func removeAll(where fits: (CacheKey) -> Bool) -> [MemoryNode] {
        let nodes = eachShard { $0.table.nodes }.joined().filter { fits($0.facts.key) }
        for node in nodes { remove(node) }
        return nodes
    }

    /// Nodes, those included that linger.
    var count: Int { eachShard { $0.table.count }.reduce(0, +) }

    var uses: (hits: Int, misses: Int) {
        eachShard { ($0.hits, $0.misses) }.reduce((0, 0)) { ($0.0 + $1.0, $0.1 + $1.1) }
    }
}
