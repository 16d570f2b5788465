/// Which node stands under which key: divided by hash, so that readers on many threads seldom meet at a lock.
final class MemoryIndex: Sendable {
    private struct Shard {
        var nodes: [CacheKey: MemoryNode] = [:]
        var hits = 0
        var misses = 0
    }

    /// A power of two.
    private static let width = 64
    private let shards: [Lock<Shard>]

    init() { shards = (0..<Self.width).map { _ in Lock(Shard()) } }

    private func shard(_ key: CacheKey) -> Lock<Shard> {
        shards[Int(truncatingIfNeeded: key.hash.high) & (Self.width - 1)]
    }

    /// The node under `key`, noted as a hit or a miss. A node without its bitmap is returned, and counts as a miss.
    func find(_ key: CacheKey) -> (node: MemoryNode, bitmap: Bitmap?)? {
        shard(key).withLock { shard in
            guard let node = shard.nodes[key] else {
                shard.misses += 1
                return nil
            }
            let bitmap = node.bitmap
            if bitmap == nil { shard.misses += 1 } else { shard.hits += 1 }
            return (node, bitmap)
        }
    }

    /// Puts `node` under its key and gives back the one that it replaces.
    func replace(with node: MemoryNode) -> MemoryNode? {
        shard(node.facts.key).withLock { $0.nodes.updateValue(node, forKey: node.facts.key) }
    }

    func remove(_ key: CacheKey) -> MemoryNode? {
        shard(key).withLock { $0.nodes.removeValue(forKey: key) }
    }

    /// Takes out this very node; false where its key means another by now.
    func remove(_ node: MemoryNode) -> Bool {
        shard(node.facts.key).withLock { shard in
            guard shard.nodes[node.facts.key] === node else { return false }
            shard.nodes[node.facts.key] = nil
            return true
        }
    }

    /// Takes out every node whose key fits.
    func removeAll(where fits: (CacheKey) -> Bool) -> [MemoryNode] {
        shards.flatMap { shard in
            shard.withLock { shard in
                let gone = shard.nodes.filter { fits($0.key) }
                for key in gone.keys { shard.nodes[key] = nil }
                return Array(gone.values)
            }
        }
    }

    var count: Int { shards.reduce(0) { sum, shard in sum + shard.withLock { $0.nodes.count } } }

    var uses: (hits: Int, misses: Int) {
        shards.reduce((0, 0)) { sum, shard in shard.withLock { (sum.0 + $0.hits, sum.1 + $0.misses) } }
    }
}
