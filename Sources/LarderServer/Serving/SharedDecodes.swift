import Larder

/// Makes thumbnails of one image that are wanted at the same time from one decode, which is most of the work: a list
/// asks for two sizes of each picture.
///
/// What waits for a thread waits by image; the thread that comes takes all that has gathered.
final class SharedDecodes: Sendable {
    /// One thumbnail that somebody waits for.
    final class Item: Sendable {
        let order: ThumbnailMaker.Order
        let keeps: Bool
        let began: UInt64
        private let state: Lock<State>

        private struct State {
            var continuation: Handover<Result<ServedImage, ImageError>>?
            var isOver = false
            var batch: Batch?
        }

        init(_ order: ThumbnailMaker.Order, keeps: Bool, began: UInt64) {
            self.order = order
            self.keeps = keeps
            self.began = began
            state = Lock(State())
        }

        var isOver: Bool { state.withLock { $0.isOver } }

        /// Suspends until the thumbnail is made or given up.
        func wait(_ start: () -> Void) async -> Result<ServedImage, ImageError> {
            await withHandover { continuation in
                let isOver = state.withLock { state in
                    if !state.isOver { state.continuation = continuation }
                    return state.isOver
                }
                guard !isOver else { return continuation.resume(returning: .failure(Self.cancelled)) }
                start()
            }
        }

        /// False where it was over before.
        @discardableResult
        func finish(_ result: Result<ServedImage, ImageError>) -> Bool {
            let (continuation, batch, isFirst) = state.withLock { state in
                defer { (state.continuation, state.isOver) = (nil, true) }
                return (state.continuation, state.batch, !state.isOver)
            }
            continuation?.resume(returning: result)
            if isFirst { batch?.leave() }
            return isFirst
        }

        func cancel() { finish(.failure(Self.cancelled)) }

        /// False where nobody waits any more.
        func enter(_ batch: Batch) -> Bool {
            state.withLock { state in
                guard !state.isOver else { return false }
                state.batch = batch
                return true
            }
        }

        private static let cancelled = ImageError.cancelled(.init("nobody waits for the thumbnail any more"))
    }

    /// The thumbnails of one decode; given up when nobody waits for any of them.
    final class Batch: Sendable {
        let abort = AbortFlag()
        private let members = Lock(0)

        func join() { members.withLock { $0 += 1 } }
        func leave() {
            let isEmpty = members.withLock { members in
                members -= 1
                return members == 0
            }
            if isEmpty { abort.abort() }
        }
    }

    private struct Key: Hashable {
        var source: CacheKey
        var sha256: [UInt8]
        var reduction: Int
    }

    /// Thumbnails from one decode, and pixels of theirs beyond the first's, at most: each costs memory of its own.
    private static let most = (items: 16, pixels: 4 << 20)

    private let pool: WorkPool
    private let maxWaiting: Int
    private let waitingItems = Lock<[Key: [Item]]>([:])
    private let count = Lock(0)

    /// - Parameter maxWaiting: thumbnails that may wait.
    init(pool: WorkPool, maxWaiting: Int) {
        self.pool = pool
        self.maxWaiting = max(1, maxWaiting)
    }

    /// Thumbnails that wait for a thread.
    var waiting: Int { waitingItems.withLock { $0.values.reduce(0) { $0 + $1.count } } }

    /// Waits for a thumbnail that `work` makes, together with others.
    ///
    /// - Parameter work: finishes each of the items. Blocking.
    func make(
        _ item: Item, of source: StoredEntry, reduction: Int,
        _ work: @escaping @Sendable ([Item], Batch) -> Void
    ) async throws(ImageError) -> ServedImage {
        let isAdmitted = count.withLock { count in
            guard count < maxWaiting else { return false }
            count += 1
            return true
        }
        guard isAdmitted else { throw .refused(.busy, .init("too much waits already", retryAfter: 2)) }
        defer { count.withLock { $0 -= 1 } }
        let key = Key(source: source.key, sha256: source.sha256, reduction: reduction)
        let result = await withTaskCancellationHandler {
            await item.wait { add(item, key, work) }
        } onCancel: {
            item.cancel()
        }
        return try result.get()
    }

    private func add(_ item: Item, _ key: Key, _ work: @escaping @Sendable ([Item], Batch) -> Void) {
        let isFirst = waitingItems.withLock { waiting in
            waiting[key, default: []].append(item)
            return waiting[key]?.count == 1
        }
        if isFirst { start(key, work) }
    }

    private func start(_ key: Key, _ work: @escaping @Sendable ([Item], Batch) -> Void) {
        Task { [self] in
            do throws(ImageError) {
                try await pool.run { [self] () throws(ImageError) in
                    let (items, hasMore) = take(key)
                    if hasMore { start(key, work) }
                    let batch = Batch()
                    // One place is ours until all have come in.
                    batch.join()
                    let wanted = items.filter { item in
                        batch.join()
                        if item.enter(batch) { return true }
                        batch.leave()
                        return false
                    }
                    batch.leave()
                    work(wanted, batch)
                }
            } catch {
                let items = waitingItems.withLock { $0.removeValue(forKey: key) ?? [] }
                for item in items { item.finish(.failure(error)) }
            }
        }
    }

    private func take(_ key: Key) -> ([Item], hasMore: Bool) {
        waitingItems.withLock { waiting in
            let all = waiting.removeValue(forKey: key) ?? []
            var pixels = 0
            let taken = all.prefix(Self.most.items).enumerated().prefix { place, item in
                pixels += min(item.order.pixels, Self.most.pixels)
                return place == 0 || pixels <= Self.most.pixels
            }
            let rest = all.dropFirst(taken.count)
            if !rest.isEmpty { waiting[key] = Array(rest) }
            return (taken.map(\.element), !rest.isEmpty)
        }
    }
}
