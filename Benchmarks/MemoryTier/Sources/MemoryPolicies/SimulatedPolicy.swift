/// A policy under simulation. The library's own learn of a use from the node alone; others may want to be told.
protocol SimulatedPolicy: EvictionPolicy {
    mutating func used(_ node: PolicyNode)
    /// A request that was not answered, for policies that count these too.
    mutating func missed(_ fingerprint: UInt64)
}

extension SimulatedPolicy {
    mutating func used(_ node: PolicyNode) { node.touch() }
    mutating func missed(_ fingerprint: UInt64) {}
}

extension Sieve: SimulatedPolicy {}
extension S3FIFO: SimulatedPolicy {}
