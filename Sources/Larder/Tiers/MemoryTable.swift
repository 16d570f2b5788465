/// Nodes by key: open addressing on the hash that the key brings with it, in one flat piece of memory. Swift's
/// dictionary would hash that hash again, with a keyed function made for strangers' input; ours is SHA-256 already.
///
/// Memory and references are kept by hand, so that a search counts none: call `close` before it is dropped. Not
/// thread-safe.
struct MemoryTable {
    private struct Slot {
        var hash: CacheKey.Hash
        var node: Unmanaged<MemoryNode>?
    }

    /// A power of two, at least twice the count.
    private var slots = Self.freeSlots(8)
    private(set) var count = 0

    private static func freeSlots(_ count: Int) -> UnsafeMutableBufferPointer<Slot> {
        let slots = UnsafeMutableBufferPointer<Slot>.allocate(capacity: count)
        slots.initialize(repeating: Slot(hash: .init(high: 0, low: 0), node: nil))
        return slots
    }

    private var mask: Int { slots.count - 1 }
    private func home(_ hash: CacheKey.Hash) -> Int { Int(truncatingIfNeeded: hash.low) & mask }

    /// Where `key` is, or the free slot where it would be put.
    private func position(_ key: borrowing CacheKey) -> Int {
        var at = home(key.hash)
        // Ends: at least half of the slots are free.
        while let node = slots[at].node {
            // The parts are compared as well: a collision is a miss and never a wrong picture.
            if slots[at].hash == key.hash, node._withUnsafeGuaranteedRef({ $0.facts.key.names(key) }) { return at }
            at = (at + 1) & mask
        }
        return at
    }

    func find(_ key: borrowing CacheKey) -> Unmanaged<MemoryNode>? { slots[position(key)].node }

    /// Puts `node` under its key and gives back the one that it replaces.
    mutating func put(_ node: MemoryNode) -> MemoryNode? {
        if 2 * (count + 1) > slots.count { grow() }
        let at = position(node.facts.key)
        let replaced = slots[at].node?.takeRetainedValue()
        slots[at] = Slot(hash: node.facts.key.hash, node: .passRetained(node))
        if replaced == nil { count += 1 }
        return replaced
    }

    mutating func remove(_ key: CacheKey) -> MemoryNode? {
        var free = position(key)
        guard let removed = slots[free].node?.takeRetainedValue() else { return nil }
        count -= 1
        // Those behind move up, so that no search ends too early at the gap.
        var at = (free + 1) & mask
        while slots[at].node != nil {
            if (at - home(slots[at].hash)) & mask >= (at - free) & mask {
                slots[free] = slots[at]
                free = at
            }
            at = (at + 1) & mask
        }
        slots[free].node = nil
        return removed
    }

    /// Once, at the end.
    func close() {
        for slot in slots { slot.node?.release() }
        slots.deallocate()
    }

    private mutating func grow() {
        let old = slots
        slots = Self.freeSlots(2 * old.count)
        for slot in old where slot.node != nil {
            var at = home(slot.hash)
            while slots[at].node != nil { at = (at + 1) & mask }
            slots[at] = slot
        }
        old.deallocate()
    }

    var nodes: [MemoryNode] { slots.compactMap { $0.node?.takeUnretainedValue() } }
}

extension CacheKey {
    /// Equality of the parts without the hash, and without counting references to them.
    fileprivate borrowing func names(_ other: borrowing CacheKey) -> Bool {
        url == other.url && variant == other.variant && partition == other.partition
    }
}
