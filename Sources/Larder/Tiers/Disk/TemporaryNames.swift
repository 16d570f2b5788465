/// Names for temporary files that no other process or volume makes. The number in them is locked as long as this
/// object lives, so that others can tell the files of the dead.
final class TemporaryNames: Sendable {
    private static let suffix = ".tmp"
    let owner = UInt64.random(in: 1 ... .max)
    private let prefix: String
    private let counter = Lock(0 as UInt64)
    private let held: LockFile.Held?

    init(_ locks: LockFile) {
        prefix = Self.hex(owner)
        held = try? locks.tryHold(.owner(owner))
    }

    private static func hex(_ number: UInt64) -> String {
        String(CacheKey.Hash(high: number, low: 0).description.prefix(16))
    }

    func next() -> String {
        let number = counter.withLock { counter in
            counter &+= 1
            return counter
        }
        return "\(prefix)-\(number)\(Self.suffix)"
    }

    /// The number in a name made by ``next()``; nil for any other.
    static func owner(of name: String) -> UInt64? {
        guard name.hasSuffix(suffix), let dash = name.firstIndex(of: "-"),
            let owner = UInt64(name[..<dash], radix: 16), name.hasPrefix(hex(owner)),
            name[name.index(after: dash)...].dropLast(suffix.count).allSatisfy({ ("0"..."9").contains($0) })
        else { return nil }
        return owner
    }
}
