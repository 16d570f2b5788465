/// What the disk tier says to a request. Everything here blocks: it runs on the executor.
extension CachingFetcher {
    /// A stored response that the server is to confirm.
    struct Stored: Sendable {
        let entry: StoredEntry
        let metadata: EntryMetadata
    }

    enum Lookup: Sendable {
        /// Use it; `revalidates` asks for a revalidation behind the caller's back.
        case found(FetchResult, revalidates: Bool)
        /// The network is needed, to confirm what is stored, or for the whole or its rest.
        case needed(Stored?)
    }

    /// - Parameter isSecond: a look a moment ago found nothing, neither under the key nor under that of a private answer,
    ///   and nobody was seen to store anything since: the key alone will do.
    func lookUp(
        _ request: FetchRequest, _ key: CacheKey, isSecond: Bool = false
    ) throws(ImageError) -> Lookup {
        let control = CacheControl(request.fields)
        let now = time.now
        var stored: Stored?
        let found = isSecond ? disk?.entry(only: key) : disk?.entry(for: key)
        if let entry = found, let (metadata, answers) = answers(entry, request), answers {
            let reuse = Reuse.decide(
                entry.freshness, storedAt: entry.storedAt, policy: request.policy, request: control, now: now,
                age: { self.age(entry, metadata, now) })
            switch reuse {
            case .fresh: return .found(Self.hit(entry, isStale: false), revalidates: false)
            case .stale: return .found(Self.hit(entry, isStale: true), revalidates: false)
            case .staleWhileRevalidate: return .found(Self.hit(entry, isStale: true), revalidates: true)
            case .revalidate:
                if let metadata = metadata ?? (try? entry.metadata()) {
                    stored = Stored(entry: entry, metadata: metadata)
                }
            case .refetch, .unusable: break
            }
        }
        if case .offlineOnly = request.policy {
            throw .notCached(.init("not stored in a state to be used, and the network is not used"))
        }
        if control.onlyIfCached { throw .notCached(.init("only-if-cached, and nothing usable is stored")) }
        if let failure = rememberedFailure(request, key, now) { throw failure }
        return .needed(stored)
    }

    /// The kept beginning of an image, if there is one to go on from.
    func beginning(_ request: FetchRequest, _ key: CacheKey) -> Beginning? {
        guard let disk, request.policy != .reload, request.method == "GET",
            case .image(let limits, let filter) = request.content, !request.fields.contains("range")
        else { return nil }
        return Beginning(disk, key, limits, filter)
    }

    /// Whether the entry is an answer to this request, and its metadata where they had to be read for that.
    private func answers(_ entry: StoredEntry, _ request: FetchRequest) -> (EntryMetadata?, Bool)? {
        if let sha256 = request.sha256, entry.sha256 != sha256 { return nil }
        // What a cache of any content has stored (a page, an error) is no image.
        if !request.takesAnything, entry.header == nil { return nil }
        guard entry.freshness.hasVary else { return (nil, true) }
        guard let metadata = try? entry.metadata() else { return nil }
        return (metadata, Vary(metadata.fields).matches(sentFields(request), stored: metadata.varyFields))
    }

    private func age(_ entry: StoredEntry, _ metadata: EntryMetadata?, _ now: Timestamp) -> Int64 {
        guard let metadata = metadata ?? (try? entry.metadata()) else { return .max }
        return Freshness(
            status: metadata.status, fields: metadata.fields, requestTime: metadata.requestTime,
            responseTime: metadata.responseTime
        ).age(now: now)
    }

    static func hit(_ entry: StoredEntry, isStale: Bool) -> FetchResult {
        var result = FetchResult(.entry(entry), source: .disk, status: entry.status)
        result.isStale = isStale
        return result
    }

    // MARK: Remembered failures

    private func rememberedFailure(_ request: FetchRequest, _ key: CacheKey, _ now: Timestamp) -> ImageError? {
        guard !request.takesAnything, request.policy == .http || request.policy == .immutable,
            let remembered = disk?.rememberedFailure(key), now < remembered.until
        else { return nil }
        let details = ImageError.Details("remembered from an earlier attempt; --refresh asks again")
        let parts = remembered.code.split(separator: ":")
        if parts.first == "http_status", let status = parts.last.flatMap({ Int($0) }) {
            return .httpStatus(status, details)
        }
        return remembered.code == "not_an_image" ? .notAnImage(details) : nil
    }

    /// Who asked in spite of a remembered failure, and got the image, has shown that it no longer holds.
    func forgetFailure(_ plan: FetchPlan) {
        guard let disk, plan.request.policy == .reload || plan.request.policy == .revalidate else { return }
        let key = plan.key
        executor.detach { disk.rememberFailure(key, code: "", until: .distantPast) }
    }

    /// Remembers what will not change soon, so that a list does not ask again and again; nothing that may pass.
    func remember(_ error: ImageError, _ request: FetchRequest, _ key: CacheKey) {
        guard let disk, configuration.failureLifetime > 0, !request.takesAnything else { return }
        let code: String
        switch error {
        case .httpStatus(let status, _) where status == 404 || status == 410: code = "http_status:\(status)"
        case .notAnImage: code = "not_an_image"
        default: return
        }
        let until = time.now.adding(seconds: min(configuration.failureLifetime, 86_400))
        executor.detach { disk.rememberFailure(key, code: code, until: until) }
    }
}
