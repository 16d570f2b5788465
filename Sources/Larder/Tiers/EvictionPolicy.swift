/// Who goes first when the memory tier is full. It knows costs and use, and nothing of images: the simulation in
/// `Benchmarks/` compiles this very file.
///
/// Not thread-safe: whoever owns it locks. Only ``PolicyNode/touch()`` may be called from any thread at any time,
/// which is why a hit takes no lock of the policy's.
protocol EvictionPolicy {
    /// Takes charge of a node that is in no queue.
    mutating func admit(_ node: PolicyNode)
    /// Lets go of a node that it has charge of.
    mutating func remove(_ node: PolicyNode)
    /// Lets go of the node that can best be missed; nil where there is none.
    mutating func victim() -> PolicyNode?
}
