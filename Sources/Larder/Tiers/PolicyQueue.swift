/// A doubly linked queue of nodes, newest to oldest, that retains what it holds. Every operation is O(1).
final class PolicyQueue {
    private(set) unowned(unsafe) var newest: PolicyNode?
    private(set) unowned(unsafe) var oldest: PolicyNode?
    private(set) var count = 0
    /// Of all nodes.
    private(set) var cost = 0

    init() {}
    deinit { removeAll() }

    func push(_ node: PolicyNode) {
        precondition(node.queue == nil, "a node is in one queue at a time")
        _ = Unmanaged.passRetained(node)
        node.queue = self
        node.newer = nil
        node.older = newest
        newest?.newer = node
        newest = node
        if oldest == nil { oldest = node }
        count += 1
        cost += node.cost
    }

    /// Takes out a node that this queue holds.
    @discardableResult
    func remove(_ node: PolicyNode) -> PolicyNode {
        precondition(node.queue === self, "the node is in another queue")
        if let newer = node.newer { newer.older = node.older } else { newest = node.older }
        if let older = node.older { older.newer = node.newer } else { oldest = node.newer }
        node.newer = nil
        node.older = nil
        node.queue = nil
        count -= 1
        cost -= node.cost
        return Unmanaged.passUnretained(node).takeRetainedValue()
    }

    func popOldest() -> PolicyNode? { oldest.map { remove($0) } }

    func removeAll() { while popOldest() != nil {} }
}
