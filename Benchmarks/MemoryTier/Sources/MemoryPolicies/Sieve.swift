/// SIEVE (Zhang et al., NSDI 2024): one queue in order of insertion, and a hand that goes from the oldest to the
/// newest, spares once what was used, and evicts the first that was not. New nodes come in behind the hand, so a
/// scan evicts itself.
struct Sieve: EvictionPolicy {
    private let queue = PolicyQueue()
    private unowned(unsafe) var hand: PolicyNode?

    mutating func admit(_ node: PolicyNode) {
        node.forgetUses()
        queue.push(node)
    }

    mutating func remove(_ node: PolicyNode) {
        if hand === node { hand = node.newer }
        queue.remove(node)
    }

    mutating func victim() -> PolicyNode? {
        guard var candidate = hand ?? queue.oldest else { return nil }
        while candidate.useCount > 0 {
            candidate.forgetUses()
            guard let next = candidate.newer ?? queue.oldest else { break }
            candidate = next
        }
        hand = candidate.newer
        return queue.remove(candidate)
    }
}
