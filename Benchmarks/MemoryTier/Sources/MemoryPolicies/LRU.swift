/// Least recently used: the baseline.
struct LRU: SimulatedPolicy {
    private let queue = PolicyQueue()

    mutating func admit(_ node: PolicyNode) { queue.push(node) }
    mutating func remove(_ node: PolicyNode) { queue.remove(node) }
    mutating func victim() -> PolicyNode? { queue.popOldest() }
    mutating func used(_ node: PolicyNode) {
        queue.remove(node)
        queue.push(node)
    }
}
