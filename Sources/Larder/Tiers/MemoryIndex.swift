/// Which node stands under which key, and how often one was found.
///
/// Its owner calls `destroy`.
struct MemoryIndex: Sendable {
    enum Found {
        /// It is held by the tier and may be used.
        case held(DecodedImage)
        /// Something else than a plain hit: the ledger must be told.
        case other(MemoryNode)
        case nothing
    }

    private let table = ReadersLock(MemoryTable())

    /// Once, when nobody uses it any more.
    func destroy() {
        table.change { $0.close() }
        table.destroy()
    }

    /// What stands under `key`. A plain hit is counted and noted at its node; the rest is the caller's.
    ///
    /// - Parameter now: monotonic nanoseconds; 0 where nothing expires.
    func find(_ key: borrowing CacheKey, now: UInt64) -> Found {
        table.read { table in
            guard let found = table.find(key) else { return (.nothing, false) }
            guard let place = found._withUnsafeGuaranteedRef({ $0.use(now: now) }), let image = place.pointee.object
            else { return (.other(found.takeUnretainedValue()), nil) }
            return (.held(image), true)
        }
    }

    /// Counts a hit or a miss that was more than a look.
    func count(isHit: Bool) { table.count(isHit: isHit) }

    /// The node under `key`, noted nowhere.
    func node(_ key: CacheKey) -> MemoryNode? { table.read { ($0.find(key)?.takeUnretainedValue(), nil) } }

    /// Puts `node` under its key and gives back the one that it replaces.
    func put(_ node: MemoryNode) -> MemoryNode? { table.change { $0.put(node) } }

    /// Puts `node` in the place of `old`; false where that is no longer the one that stands under their key.
    func replace(_ old: MemoryNode, with node: MemoryNode) -> Bool {
        table.change { table in
            guard table.find(old.facts.key)?.toOpaque() == Unmanaged.passUnretained(old).toOpaque() else {
                return false
            }
            // The table lets go of `old`, the caller does not.
            _ = table.put(node)
            return true
        }
    }

    func remove(_ key: CacheKey) -> MemoryNode? { table.change { $0.remove(key) } }

    /// Takes out this very node, and no other that has taken its place.
    func remove(_ node: MemoryNode) {
        _ = table.change { table -> MemoryNode? in
            guard table.find(node.facts.key)?.toOpaque() == Unmanaged.passUnretained(node).toOpaque() else {
                return nil
            }
            return table.remove(node.facts.key)
        }
    }

    /// Takes out every node whose facts fit. `fits` is called without a lock held.
    func removeAll(where fits: (DecodedImage.Facts) -> Bool) -> [MemoryNode] {
        let nodes = table.read { ($0.nodes, nil) }.filter { fits($0.facts) }
        for node in nodes { remove(node) }
        return nodes
    }

    /// Nodes, those included that linger.
    var count: Int { table.read { ($0.count, nil) } }

    var uses: (hits: Int, misses: Int) { table.counts }
}
