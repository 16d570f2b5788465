import Synchronization

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

        /// Whether memory pressure empties the tier (``MemoryTier/empty()``): read from the cgroup (v2) or from the
        /// system (PSI), by a thread that sleeps. True by default.
        public var emptiesUnderPressure: Bool

        /// What is not given has its default.
        public init(
            byteLimit: Int = 256 << 20, countLimit: Int = 10_000, timeToLive: Double? = nil,
            emptiesUnderPressure: Bool = true
        ) {
            self.byteLimit = byteLimit
            self.countLimit = countLimit
            self.timeToLive = timeToLive
            self.emptiesUnderPressure = emptiesUnderPressure
        }
    }

    /// What the tier has done and holds, at one moment.
    public struct Statistics: Sendable, Hashable {
        /// Look-ups that found a picture.
        public var hits: Int
        /// Look-ups that found none.
        public var misses: Int
        /// Pictures that had to go.
        public var evictions: Int
        /// Pictures and bytes held now.
        public var count: Int
        /// Bytes held now.
        public var bytes: Int
    }

    private let index = MemoryIndex()
    private let ledger: Lock<MemoryLedger>
    private let time: any TimeSource
    /// Nanoseconds; nil for ever.
    private let lifetime: UInt64?

    /// Begins with the first picture. Before, there is nothing to give back, and the kernel takes some 15 ms to end a
    /// watch: a process that only stores need not wait for it.
    private let monitor = Lock<MemoryPressureMonitor?>(nil)
    private let lacksMonitor: Atomic<Bool>
    private let onEviction: @Sendable (_ key: CacheKey, _ bytes: Int) -> Void

    /// An empty tier.
    public convenience init(_ configuration: Configuration = .init()) {
        self.init(configuration, time: SystemTime())
    }

    /// - Parameter onEviction: called from any thread, without a lock held, for each picture that had to go.
    package init(
        _ configuration: Configuration, time: any TimeSource,
        onEviction: @escaping @Sendable (_ key: CacheKey, _ bytes: Int) -> Void = { _, _ in }
    ) {
        self.onEviction = onEviction
        ledger = Lock(
            MemoryLedger(byteLimit: max(0, configuration.byteLimit), countLimit: max(0, configuration.countLimit)))
        self.time = time
        lifetime = configuration.timeToLive.map { UInt64(($0 > 0 ? min($0, 1e9) : 0) * 1e9) }
        lacksMonitor = Atomic(configuration.emptiesUnderPressure)
    }

    private func watchPressure() {
        guard lacksMonitor.exchange(false, ordering: .relaxed) else { return }
        let monitor = MemoryPressureMonitor { [weak self] in self?.empty() }
        self.monitor.withLock { $0 = monitor }
    }

    /// Whether memory pressure is watched for; for tests.
    var watchesPressure: Bool { monitor.withLock { $0 != nil } }

    deinit {
        ledger.withLock { $0.close() }
        index.destroy()
    }

    /// The picture under `key`, or nil.
    package func decoded(for key: borrowing CacheKey) -> DecodedImage? {
        switch index.find(key, now: now) {
        case .held(let image): return image
        case .nothing: return nil
        case .other(let node): return revive(node)
        }
    }

    /// A picture that was evicted and is still in use comes back without being decoded; one that has expired, or
    /// that is in use by nobody, goes.
    private func revive(_ node: MemoryNode) -> DecodedImage? {
        let key = node.facts.key
        if node.expiry > now {
            if let image = node.image {
                index.count(isHit: true)
                node.touch()
                admit(node, image)
                return image
            }
            if let bitmap = node.bitmap {
                // Where another has taken its place meanwhile, that one is newer.
                guard let image = replace(node, by: bitmap, node.facts) else { return decoded(for: key) }
                index.count(isHit: true)
                return image
            }
        }
        index.count(isHit: false)
        index.remove(node)
        _ = ledger.withLock { $0.discard(node) }
        return nil
    }

    /// Keeps `image` under its key, in place of what was there.
    ///
    /// - Returns: the keys of the pictures that had to go for it, in order.
    @discardableResult
    package func insert(_ image: DecodedImage) -> [CacheKey] {
        if lacksMonitor.load(ordering: .relaxed) { watchPressure() }
        let node = MemoryNode(image, expiry: lifetime.map { saturating(now, plus: $0) } ?? .max)
        if let replaced = index.put(node) { _ = ledger.withLock { $0.discard(replaced) } }
        return admit(node, image)
    }

    /// The picture under `key` where it was made of an original with that SHA-256, from now on as fresh as `freshness`
    /// says: what was found to be unchanged need not be decoded again. It does not live longer for it where the tier
    /// has a time to live.
    package func refreshed(
        _ key: CacheKey, _ freshness: StoredFreshness?, sha256: [UInt8], fields: HTTPFields = .init()
    ) -> DecodedImage? {
        guard let node = index.node(key), node.facts.sha256 == sha256, node.expiry > now,
            let bitmap = node.image?.bitmap ?? node.bitmap
        else { return nil }
        return replace(
            node, by: bitmap,
            .init(key: key, header: node.facts.header, freshness: freshness, sha256: sha256, fields: fields))
    }

    /// The same pixels with another record of them; nil where the node is no longer the one under its key.
    private func replace(
        _ old: MemoryNode, by bitmap: Bitmap, _ facts: DecodedImage.Facts
    ) -> DecodedImage? {
        let image = DecodedImage(bitmap: bitmap, facts: facts)
        let node = MemoryNode(image, expiry: old.expiry)
        // It has been of use: the policy need not try it anew.
        node.touch()
        guard index.replace(old, with: node) else { return nil }
        _ = ledger.withLock { $0.discard(old) }
        admit(node, image)
        return image
    }

    /// Forgets the picture under `key`.
    public func remove(_ key: CacheKey) {
        guard let node = index.remove(key) else { return }
        _ = ledger.withLock { $0.discard(node) }
    }

    /// Forgets every picture whose key fits. O(n), for rare events: an original whose bytes have changed takes its
    /// variants with it.
    public func removeAll(where fits: (CacheKey) -> Bool) { remove { fits($0.key) } }

    /// Forgets what was made of other bytes of that original than those with the SHA-256. O(n).
    package func removeAll(of original: CacheKey, except sha256: [UInt8]) {
        remove {
            $0.sha256 != sha256 && $0.key.url == original.url && $0.key.partition == original.partition
        }
    }

    private func remove(where fits: (DecodedImage.Facts) -> Bool) {
        let nodes = index.removeAll(where: fits)
        _ = ledger.withLock { ledger in nodes.map { ledger.discard($0) } }
    }

    /// Forgets every picture.
    public func removeAll() { removeAll { _ in true } }

    /// Gives back all memory that nobody else holds, as under memory pressure. What is still shown is found again.
    public func empty() { settle(ledger.withLock { $0.evictAll() }) }

    /// What the tier has done and holds, at this moment.
    public var statistics: Statistics {
        let uses = index.uses
        return ledger.withLock {
            Statistics(hits: uses.hits, misses: uses.misses, evictions: $0.evictions, count: $0.count, bytes: $0.bytes)
        }
    }

    /// Nodes in the index, those included whose pictures linger; for tests.
    var indexed: Int { index.count }

    /// Monotonic nanoseconds; 0 where nothing expires, since reading the clock costs as much as a hit.
    private var now: UInt64 { lifetime == nil ? 0 : time.monotonic }

    @discardableResult
    private func admit(_ node: MemoryNode, _ image: DecodedImage) -> [CacheKey] {
        let now = now
        return settle(ledger.withLock { $0.admit(node, image, now: now) })
    }

    /// Releases the pixels of what was evicted, and takes out of the index what nobody can show any more.
    @discardableResult
    private func settle(_ departures: MemoryLedger.Departures) -> [CacheKey] {
        for (node, _) in departures.dead { index.remove(node) }
        for (node, _) in departures.evicted { onEviction(node.facts.key, node.cost) }
        return departures.evicted.map(\.node.facts.key)
    }
}

private func saturating(_ time: UInt64, plus nanoseconds: UInt64) -> UInt64 {
    let (sum, overflow) = time.addingReportingOverflow(nanoseconds)
    return overflow ? .max : sum
}
