/// What the memory tier does, without images: a policy, a limit, and a table of what is there.
struct SimulatedCache<Policy: SimulatedPolicy> {
    private final class Node: PolicyNode, @unchecked Sendable {
        let image: Int
        init(_ request: Trace.Request) {
            image = request.image
            super.init(fingerprint: mix(UInt64(request.image)), cost: request.cost)
        }
    }

    private var policy: Policy
    private let capacity: Int
    private var cost = 0
    private var nodes: [Int: Node] = [:]

    init(_ policy: Policy, capacity: Int) {
        self.capacity = capacity
        self.policy = policy
    }

    /// Whether it was there. What was not there is there afterwards.
    mutating func request(_ request: Trace.Request) -> Bool {
        if let node = nodes[request.image] {
            policy.used(node)
            return true
        }
        policy.missed(mix(UInt64(request.image)))
        while cost > capacity - request.cost, let victim = policy.victim() as? Node {
            cost -= victim.cost
            nodes[victim.image] = nil
        }
        let node = Node(request)
        policy.admit(node)
        cost += node.cost
        nodes[node.image] = node
        return false
    }

    func holds(_ image: Int) -> Bool { nodes[image] != nil }
}

/// Spreads a number over 64 bits, as the hash of a key is spread.
private func mix(_ word: UInt64) -> UInt64 {
    let word = (word ^ (word >> 33)) &* 0xFF51_AFD7_ED55_8CCD
    return word ^ (word >> 33)
}
