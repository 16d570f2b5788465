/// Which entries go next: the least recently used by the index, a batch at a time. Where there is no index, the
/// oldest by modification of one folder after the other.
final class VictimQueue: Sendable {
    private struct State {
        var candidates: [EvictionCandidate] = []
        var next = 0
        var waiting: Set<CacheKey.Hash> = []
        /// The place in the index's order up to which candidates were taken.
        var cursor = Int64.min
        var folder = Int.random(in: 0..<256)
        /// Monotonic nanoseconds until which the candidates count as the least recently used.
        var goodUntil: UInt64 = 0

        /// Forgets the candidates; the next look begins where the first of them stood.
        mutating func dropAll() {
            guard next < candidates.count else { return }
            cursor = min(cursor, candidates[next].order &- 1)
            (candidates, next, waiting) = ([], 0, [])
        }
    }

    private let state = Lock(State())
    private let time: any TimeSource
    private static let batch = 256
    /// How long candidates are good for, in seconds: other processes' uses are in the index by then.
    private static let lifetime = 2.0

    init(time: any TimeSource) { self.time = time }

    /// The next candidate that was not used since it was put here, so far as this process knows; nil where none is left
    /// or they were put here long ago.
    func next() -> EvictionCandidate? {
        let now = time.monotonic
        return state.withLock { state in
            if now > state.goodUntil { state.dropAll() }
            while state.next < state.candidates.count {
                let candidate = state.candidates[state.next]
                state.next += 1
                if state.waiting.remove(candidate.hash) != nil { return candidate }
            }
            return nil
        }
    }

    /// Takes entries out that were used or changed since.
    func discard(_ hashes: some Sequence<CacheKey.Hash>) {
        state.withLock { state in
            guard !state.waiting.isEmpty else { return }
            for hash in hashes { state.waiting.remove(hash) }
        }
    }

    /// Looks for more; false where there are none.
    ///
    /// - Parameter flush: whether the index may be waited for.
    func refill(_ index: EntryIndex, _ directory: CacheDirectory, flush: Bool) -> Bool {
        if !index.isComplete { return sample(directory) }
        let cursor = state.withLock { $0.waiting.isEmpty ? $0.cursor : nil }
        // Another thread was quicker.
        guard let cursor else { return true }
        var found = index.leastUsed(after: cursor, limit: Self.batch) ?? []
        if found.isEmpty {
            // The end of the order: what was stored or used meanwhile lies behind, what was spared before.
            if flush { index.flush() }
            found = index.leastUsed(after: .min, limit: Self.batch) ?? []
        }
        guard let last = found.last else { return sample(directory) }
        put(found, cursor: last.order)
        return true
    }

    private func put(_ found: [EvictionCandidate], cursor: Int64?) {
        let goodUntil = time.deadline(in: Self.lifetime)
        state.withLock { state in
            state.goodUntil = goodUntil
            state.candidates.removeSubrange(..<state.next)
            state.next = 0
            for candidate in found where state.waiting.insert(candidate.hash).inserted {
                state.candidates.append(candidate)
            }
            if let cursor { state.cursor = cursor }
        }
    }

    private func sample(_ directory: CacheDirectory) -> Bool {
        for _ in 0..<256 {
            let folder = state.withLock { state in
                state.folder = (state.folder + 1) % 256
                return state.folder
            }
            guard var items = try? directory.entries(in: folder), !items.isEmpty else { continue }
            items.sort { $0.modified < $1.modified }
            let oldest = items.prefix(min(64, items.count / 16 + 1))
            put(
                oldest.map { EvictionCandidate(hash: $0.hash, order: 0, modified: $0.modified) }, cursor: nil)
            return true
        }
        return false
    }
}
