/// Names for temporary files that no other process or volume makes.
final class TemporaryNames: Sendable {
    static let suffix = ".tmp"
    private let prefix = CacheKey.Hash(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)).description
    private let counter = Lock(0 as UInt64)

    func next() -> String {
        let number = counter.withLock { counter in
            counter &+= 1
            return counter
        }
        return "\(prefix)-\(number)\(Self.suffix)"
    }
}
