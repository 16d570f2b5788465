/// S3-FIFO (Yang et al., SOSP 2023): a small queue in which newcomers prove themselves, a main queue for those who
/// did, and the names of those who left the small queue too early.
///
/// The shares are ours, from the simulation (Documentation/decisions/memory-policy.md): a list asks for what it
/// showed a moment ago, so the small queue is larger than the paper's tenth, and one use is proof enough.
struct S3FIFO: EvictionPolicy {
    private let small = PolicyQueue()
    private let main = PolicyQueue()
    private var ghosts = GhostNames()
    private let smallShare: Double
    private let proof: Int

    /// - Parameters:
    ///   - smallShare: what the small queue may hold of the whole cost.
    ///   - proof: uses in the small queue that lead to the main queue, at most 3.
    init(smallShare: Double = 0.25, proof: Int = 1) {
        self.smallShare = smallShare
        self.proof = proof
    }

    mutating func admit(_ node: PolicyNode) {
        // A use before admission: it was evicted, and somebody has found it again.
        let known = ghosts.remove(node.fingerprint) || node.useCount > 0
        node.forgetUses()
        if known { main.push(node) } else { small.push(node) }
    }

    mutating func remove(_ node: PolicyNode) { node.queue?.remove(node) }

    mutating func victim() -> PolicyNode? {
        while true {
            if isSmallFull, let node = small.popOldest() {
                guard node.useCount >= proof else {
                    ghosts.insert(node.fingerprint, limit: max(16, small.count + main.count))
                    return node
                }
                node.forgetUses()
                main.push(node)
            } else if let node = main.popOldest() {
                guard node.useCount > 0 else { return node }
                node.fade()
                main.push(node)
            } else {
                return nil
            }
        }
    }

    /// Reckoned on what is held and not on a capacity, since the limit that holds may be the one on the count.
    private var isSmallFull: Bool {
        main.count == 0 || Double(small.cost) >= smallShare * Double(small.cost + main.cost)
    }
}
