/// Decoded pictures in memory: a hit answers at once, from any thread, without suspending.
///
/// NSCache holds the pixels; which of them go is decided here, with exact limits on bytes and count, by a policy
/// under which a scan of a thousand pictures does not flush the few that a list shows
/// (Documentation/decisions/memory-policy.md). A picture that was evicted while somebody still shows it is found
/// again and never decoded twice.
///
/// Every method may be called from any thread. Looking up is O(1); so, amortised, is inserting.
public final class MemoryTier: Sendable {
    /// What the tier may hold.
    public struct Configuration: Sendable, Hashable {
        /// Bytes of all pixels held. 256 MiB by default; 0 holds nothing. A picture larger than this is not held.
        public var byteLimit: Int
        /// Pictures held. 10,000 by default; 0 holds none.
        public var countLimit: Int
        /// Seconds for which a picture may be used after it was inserted. nil, the default: for ever.
        public var timeToLive: Double?

        public init(byteLimit: Int = 256 << 20, countLimit: Int = 10_000, timeToLive: Double? = nil) {
            self.byteLimit = byteLimit
            self.countLimit = countLimit
            self.timeToLive = timeToLive
        }
    }

    /// What the tier has done and holds, at one moment.
    public struct Statistics: Sendable, Hashable {
        public var hits: Int
        public var misses: Int
        public var evictions: Int
        /// Pictures and bytes held now.
        public var count: Int
        public var bytes: Int
    }

    private let index = MemoryIndex()
    private let ledger: Lock<MemoryLedger>
    private let time: any TimeSource
    /// Nanoseconds; nil for ever.
    private let lifetime: UInt64?

    public convenience init(_ configuration: Configuration = .init()) {
        self.init(configuration, time: SystemTime())
    }

    package init(_ configuration: Configuration, time: any TimeSource) {
        ledger = Lock(
            MemoryLedger(byteLimit: max(0, configuration.byteLimit), countLimit: max(0, configuration.countLimit)))
        self.time = time
        lifetime = configuration.timeToLive.map { UInt64(min(max($0, 0), 1e9) * 1e9) }
    }

    deinit { ledger.withLock { $0.close() } }

    /// The picture under `key`, or nil.
    package func decoded(for key: CacheKey) -> DecodedImage? {
        guard let (node, bitmap) = index.find(key) else { return nil }
        guard let bitmap, node.expiry == .max || node.expiry > time.monotonic else {
            discard(node)
            return nil
        }
        node.touch()
        if !node.isHeld.load(ordering: .relaxed) { settle(ledger.withLock { $0.admit(node, bitmap) }) }
        return DecodedImage(bitmap: bitmap, facts: node.facts)
    }

    /// Keeps `image` under its key, in place of what was there.
    ///
    /// - Returns: the keys of the pictures that had to go for it, in order.
    @discardableResult
    package func insert(_ image: DecodedImage) -> [CacheKey] {
        let expiry = lifetime.map { time.monotonic.addingReportingOverflow($0).partialValue } ?? .max
        let node = MemoryNode(image, expiry: expiry)
        let replaced = index.replace(with: node)
        if let replaced { _ = ledger.withLock { $0.discard(replaced) } }
        return settle(ledger.withLock { $0.admit(node, image.bitmap) })
    }

    /// Forgets the picture under `key`.
    public func remove(_ key: CacheKey) {
        guard let node = index.remove(key) else { return }
        _ = ledger.withLock { $0.discard(node) }
    }

    /// Forgets every picture whose key fits. O(n), for rare events: an original whose bytes have changed takes its
    /// variants with it.
    public func removeAll(where fits: (CacheKey) -> Bool) {
        let nodes = index.removeAll(where: fits)
        _ = ledger.withLock { ledger in nodes.map { ledger.discard($0) } }
    }

    /// Forgets every picture.
    public func removeAll() { removeAll { _ in true } }

    /// Gives back all memory that nobody else holds, as under memory pressure. What is still shown is found again.
    public func empty() { settle(ledger.withLock { $0.evictAll() }) }

    public var statistics: Statistics {
        let uses = index.uses
        return ledger.withLock {
            Statistics(hits: uses.hits, misses: uses.misses, evictions: $0.evictions, count: $0.count, bytes: $0.bytes)
        }
    }

    private func discard(_ node: MemoryNode) {
        _ = index.remove(node)
        _ = ledger.withLock { $0.discard(node) }
    }

    /// Releases the pixels of what was evicted, and takes out of the index what nobody can show any more.
    @discardableResult
    private func settle(_ departures: MemoryLedger.Departures) -> [CacheKey] {
        for node in departures.dead { _ = index.remove(node) }
        return departures.evicted.map(\.node.facts.key)
    }
}
