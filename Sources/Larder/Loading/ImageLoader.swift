import Foundation

/// Loads images: from memory, from disk, or from the network, in that order, and keeps what it has loaded.
///
/// Make one and share it. Every method may be called from any thread. Requests for the same picture share one
/// fetch and one decode; blocking work runs on threads of the loader's own, never on the cooperative pool.
///
///     let loader = try ImageLoader()
///     for await phase in loader.phases(for: ImageRequest(url: url)) {
///         switch phase {
///         case .empty: showPlaceholder()
///         case .success(let image): show(image.bitmap)
///         case .failure(let error): show(error.message())
///         }
///     }
public final class ImageLoader: Sendable {
    /// What the loader was made with.
    public let configuration: Configuration
    /// The memory tier: what is decoded and ready.
    public let memory: MemoryTier
    /// What happens in this loader, as a stream and as counters.
    public let events: LoaderEvents
    package let disk: DiskTier?
    package let fetcher: CachingFetcher
    let time: any TimeSource
    /// For look-ups and writes in the disk tier.
    package let files: BlockingExecutor
    let decoding: DecodeQueue
    private let flights: Coalescer<LoadID, LoadedImage>
    private let progress = Lock<[LoadID: WeakProgress]>([:])

    private struct WeakProgress {
        weak var value: LoadProgress?
    }

    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where the cache directory is not ours to use. Set
    ///   ``Configuration/cacheDirectory`` to nil to go without.
    public convenience init(_ configuration: Configuration = .init()) throws(ImageError) {
        try self.init(configuration, time: SystemTime())
    }

    package init(_ configuration: Configuration, time: any TimeSource) throws(ImageError) {
        self.configuration = configuration
        self.time = time
        let events = LoaderEvents(time: time)
        self.events = events
        memory = MemoryTier(configuration.memory, time: time) { key, bytes in events.note(.evicted(bytes: bytes), key) }
        files = BlockingExecutor(name: "larder-files", width: configuration.maxFileOperations)
        flights = Coalescer(on: files.tasks)
        decoding = DecodeQueue(maxDecodes: configuration.maxDecodes, maxBytes: configuration.maxDecodeBytes)
        if let directory = configuration.cacheDirectory {
            disk = try DiskTier(directory: directory, configuration: configuration.diskTier, time: time)
        } else {
            disk = nil
        }
        let client = HTTPClient(
            transport: configuration.transport ?? URLSessionTransport(), redirects: configuration.redirects,
            hosts: configuration.hosts, time: time)
        var options = configuration.fetcher
        options.observer = { event, key in events.follow(event, key) }
        fetcher = CachingFetcher(client: client, disk: disk, executor: files, configuration: options, time: time)
    }

    /// The picture, where memory has it and it may be used without asking: at once, without suspending.
    public func cachedImage(for request: ImageRequest) -> LoadedImage? {
        cachedImage(for: request, memoryKey(for: request))
    }

    /// The same for a caller that knows the key.
    func cachedImage(for request: ImageRequest, _ key: CacheKey) -> LoadedImage? {
        guard request.cachePolicy.mayAnswerFromDisk, let image = memory.image(for: key), request.accepts(image),
            let answer = reused(image, request)
        else { return nil }
        events.note(.memoryHit, key)
        return answer
    }

    /// The picture as an answer to the request, where it may be one without asking (RFC 9111 §4): what was loaded once
    /// in this run is shown again, unless HTTP says that it has expired or was meant for another request.
    private func reused(_ image: LoadedImage, _ request: ImageRequest) -> LoadedImage? {
        guard let freshness = image.freshness else { return image }
        if freshness.hasVary, image.decoded.facts.fields != request.fields { return nil }
        // What the request's own directives allow is judged on disk, where all times are known.
        if request.fields.contains("cache-control") { return nil }
        return switch Reuse.decide(freshness, storedAt: .distantPast, policy: request.cachePolicy, now: time.now) {
        case .fresh: image
        case .stale: LoadedImage(image.decoded, source: .memory, isStale: true)
        default: nil
        }
    }

    /// The picture, upright and at the size asked for.
    ///
    /// - Throws: why it could not be had; ``ImageError/cancelled(_:)`` when the task is cancelled.
    public func image(for request: ImageRequest) async throws(ImageError) -> LoadedImage {
        try await task(for: request).image
    }

    /// The phases of the picture: `.empty` unless memory has it, then `.success` or `.failure`, then the end.
    public func phases(for request: ImageRequest) -> ImagePhases { ImagePhases(loader: self, request: request) }

    /// Begins to load, and gives a claim on the picture whose priority may be changed and which may be given up.
    public func task(for request: ImageRequest) -> ImageTask {
        do throws(ImageError) {
            let original = try originalKey(for: request)
            let key = variantKey(for: request, original)
            if let image = cachedImage(for: request, key) { return ImageTask(request, ready: .success(image)) }
            let id = LoadID(request, key)
            let progress = sharedProgress(id)
            if let hash = request.placeholder, progress.snapshot.placeholder == nil {
                progress.show(ImagePlaceholder(thumbHash: hash, color: hash.averageColor))
            }
            let ticket = flights.join(id, priority: request.priority) {
                [self] (priority) throws(ImageError) in
                try await noted(request, original, key, priority, progress)
            }
            if ticket.joined { events.note(.coalesced, key) }
            return ImageTask(request, work: flights, ticket: ticket, progress: progress)
        } catch {
            return ImageTask(request, ready: .failure(error.at(request.url)))
        }
    }

    /// A claim on a picture that somebody is loading already; nil where nobody is.
    func joiningTask(for request: ImageRequest) -> ImageTask? {
        guard let original = try? originalKey(for: request),
            flights.isRunning(LoadID(request, variantKey(for: request, original)))
        else { return nil }
        return task(for: request)
    }

    /// Loads under way, for metrics and tests.
    package var flightCount: Int { flights.count }

    /// Brings the image onto disk, with thumbnails of the given sizes; each is made once, all from one decode.
    ///
    /// A thumbnail that cannot be made carries its own error; the image itself is a success all the same.
    ///
    /// - Parameter isAfterMiss: the caller has just looked in the disk tier and found nothing.
    package func store(
        _ request: ImageRequest, thumbnails sizes: [ThumbnailSize] = [], isAfterMiss: Bool = false
    ) async throws(ImageError) -> StoredImage {
        do throws(ImageError) {
            var wanted = try fetchRequest(request)
            wanted.isAfterMiss = isAfterMiss
            var fetched = try await fetcher.fetch(wanted)
            var original = try self.original(fetched, for: request)
            let priority = SharedPriority(request.priority)
            var (made, placeholder) = try await thumbnails(sizes, of: original, priority: priority)
            if made.contains(where: \.isCorrupt), await isDamaged(original) {
                fetched = try await fetcher.fetch(wanted)
                original = try self.original(fetched, for: request)
                (made, placeholder) = try await thumbnails(sizes, of: original, priority: priority)
            }
            let source = original
            let file = await file(of: source, isUnkept: fetched.isUnkept)
            return StoredImage(
                header: source.header, file: file, isUnkept: fetched.isUnkept && file == nil,
                bytes: fetched.payloadLength, sha256: fetched.sha256, source: fetched.source, status: fetched.status,
                isStale: fetched.isStale, attempts: fetched.attempts, thumbnails: made, placeholder: placeholder,
                payload: { () throws(ImageError) in try source.payload() })
        } catch {
            throw error.at(request.url)
        }
    }

    /// What was fetched as an original. Pictures of other bytes than these are forgotten.
    func original(_ fetched: FetchResult, for request: ImageRequest) throws(ImageError) -> Original {
        let original = try Original(fetched, for: request)
        if fetched.mayReplace { memory.removeAll(of: original.key.asked, except: original.sha256) }
        return original
    }

    /// Throws where a stored image is more than the configuration lets through.
    package func judge(_ header: ImageHeader, bytes: Int) throws(ImageError) {
        guard bytes <= configuration.maxBodyBytes else {
            throw .tooLarge(.init("\(bytes) bytes are stored, the limit is \(configuration.maxBodyBytes)"))
        }
        try configuration.limits.check(header)
    }

    /// Whether the original's entry was found to be damaged and set aside: its bytes are asked for once more.
    func isDamaged(_ original: Original) async -> Bool {
        guard original.source != .network, original.entry != nil else { return false }
        return await files.perform { [disk] in disk?.entry(only: original.key) == nil }
    }

    /// Where the original lies on disk; nil where it does not.
    private func file(of original: Original, isUnkept: Bool) async -> String? {
        guard isUnkept else { return original.entry.flatMap { $0.isStored ? $0.file : nil } }
        // The same bytes may lie there all the same: those that a 304 confirmed, or another process's.
        return await files.perform { [disk] in
            disk?.entry(only: original.key).flatMap { $0.sha256 == original.sha256 ? $0.file : nil }
        }
    }

    /// All who wait for a picture see the same progress.
    private func sharedProgress(_ id: LoadID) -> LoadProgress {
        progress.withLock { table in
            if let shared = table[id]?.value { return shared }
            if table.count > 1024 { table = table.filter { $0.value.value != nil } }
            let shared = LoadProgress()
            table[id] = WeakProgress(value: shared)
            return shared
        }
    }

    /// Loads, and tells of the beginning and the end.
    private func noted(
        _ request: ImageRequest, _ original: CacheKey, _ key: CacheKey, _ priority: SharedPriority,
        _ progress: LoadProgress
    ) async throws(ImageError) -> LoadedImage {
        let start = time.monotonic
        let id = LoadID(request, key)
        progress.restart()
        // Who comes later begins a load of its own.
        defer { self.progress.withLock { if $0[id]?.value === progress { $0[id] = nil } } }
        events.note(.started, key)
        do throws(ImageError) {
            let image = try await load(request, original, priority, progress)
            events.note(.finished(image.source), key, since: start)
            return image
        } catch {
            events.note(.failed(error.at(request.url)), key, since: start)
            throw error
        }
    }
}
