import Larder

/// Gives images: as they are or as thumbnails, from the directory or through it from the network.
final class ImageDelivery: Sendable {
    private let configuration: ServerConfiguration
    private let tier: DiskTier
    private let readThrough: (any ReadThrough)?
    private let negotiation: FormatNegotiation
    private let allowance: VariantAllowance
    private let verified = VerifiedEntries()
    private let verifications = Coalescer<VerifiedEntries.Identity, Void>()
    private let readers: WorkPool
    /// Threads that make thumbnails.
    let makers: WorkPool
    private let thumbnails: ThumbnailMaker
    /// How many clients wait for each URL that is being fetched.
    private let fetches = Lock<[String: Int]>([:])
    private let metrics: Metrics
    private let epoch: Epoch
    private let time: any TimeSource

    init(
        tier: DiskTier, readThrough: (any ReadThrough)?, readers: WorkPool, configuration: ServerConfiguration,
        metrics: Metrics, epoch: Epoch, time: any TimeSource
    ) {
        self.configuration = configuration
        self.tier = tier
        self.readThrough = readThrough
        self.readers = readers
        self.metrics = metrics
        self.epoch = epoch
        self.time = time
        negotiation = FormatNegotiation(encoders: configuration.encoders)
        // The gallery's own sizes are always among those that are allowed.
        allowance = VariantAllowance(
            sizes: configuration.allowedSizes.map { $0.union(["320x320", "640x640", "1600x1600"]) })
        makers = WorkPool(name: "larder-thumbnail", width: configuration.workers, queue: configuration.queue)
        thumbnails = ThumbnailMaker(
            tier: tier, pool: makers, queue: configuration.queue + configuration.workers, limits: configuration.limits,
            time: time, metrics: metrics)
    }

    /// Whether an answer may depend on Accept.
    var varies: Bool { negotiation.varies }

    var waitingThumbnails: Int { thumbnails.waiting }

    /// An entry's image by its name.
    func file(
        _ hash: CacheKey.Hash, _ transformation: Transformation, _ visit: Visit
    ) throws(Problem) -> Response {
        guard let entry = tier.entry(named: hash) else {
            metrics.image(.miss)
            throw .notFound("There is no entry of that name.")
        }
        return try serve(entry, transformation, visit)
    }

    /// An image by its URL.
    func image(_ url: String, _ transformation: Transformation, _ visit: Visit) throws(Problem) -> Response {
        let normal: NormalizedURL
        do throws(ImageError) { normal = try NormalizedURL(url) } catch { throw Problem(error) }
        let found = tier.entry(for: CacheKey(url: normal.string))
        if let found, readThrough == nil || isUsable(found) { return try serve(found, transformation, visit) }
        guard let readThrough else {
            metrics.image(.miss)
            throw Problem(
                404, "not_cached",
                "\(normal.string.prefix(200)) is not in the cache. Fetch it with 'larder prefetch', or start the server "
                    + "with --fetch.")
        }
        return .later { [self] in await fetch(normal, transformation, visit, readThrough) }
    }

    /// Whether HTTP lets the entry be used without asking (RFC 9111 §4.2).
    private func isUsable(_ entry: StoredEntry) -> Bool {
        let freshness = entry.freshness
        return !freshness.noCache && !freshness.hasVary && freshness.freshUntil > time.now
    }

    private func fetch(
        _ url: NormalizedURL, _ transformation: Transformation, _ visit: Visit, _ readThrough: any ReadThrough
    ) async -> Answer {
        // Who wants what is being fetched already costs nothing more.
        let isAdmitted = fetches.withLock { fetches -> Bool in
            guard fetches[url.string] != nil || fetches.count < configuration.maxFetches else { return false }
            fetches[url.string, default: 0] += 1
            return true
        }
        guard isAdmitted else {
            return Problem.busy("Too many images are being fetched already.", retryAfter: 2).answer.on(visit.name)
        }
        defer {
            fetches.withLock { fetches in
                let others = (fetches[url.string] ?? 1) - 1
                fetches[url.string] = others > 0 ? others : nil
            }
        }
        let began = time.now
        let entry: StoredEntry
        do throws(Problem) {
            switch try await readThrough.fetch(url) {
            case .entry(let fetched): entry = fetched
            case .memory(let bytes, let metadata):
                metrics.image(.fetched)
                return unstored(bytes, metadata, transformation, visit)
            }
        } catch {
            return error.answer.on(visit.name)
        }
        // What is still stale was not fetched: its server is being asked, or does not answer (RFC 5861).
        let isStale = entry.freshness.freshUntil <= time.now && entry.responseTime < began
        if !isStale { metrics.image(.fetched) }
        do throws(Problem) {
            switch try serve(entry, transformation, visit, source: isStale ? nil : "fetched") {
            case .now(let answer): return answer
            case .later(let work): return await work()
            }
        } catch {
            return error.answer.on(visit.name)
        }
    }

    /// An image that may not be stored: sent to those who asked for it, as it is.
    private func unstored(
        _ bytes: [UInt8], _ metadata: EntryMetadata, _ transformation: Transformation, _ visit: Visit
    ) -> Answer {
        guard let format = metadata.header?.format else {
            return Problem.notFound("The answer holds no image.").answer.on(visit.name)
        }
        guard transformation.isIdentity else {
            return Problem(
                422, "not_storable", "Its server forbids to store this image, so no thumbnail is made of it."
            )
            .answer.on(visit.name)
        }
        var image = ServedImage(
            format: format, bytes: bytes, modified: metadata.responseTime, freshness: metadata.freshness,
            isPrivate: true)
        image.mayBeStored = false
        return answer(image, visit, source: "fetched", varies: false)
    }

    // MARK: - Images

    private func serve(
        _ entry: StoredEntry, _ transformation: Transformation, _ visit: Visit, source: String? = nil
    ) throws(Problem) -> Response {
        guard !entry.isPrivate && entry.key.partition == nil || visit.mayReadPrivate else {
            throw Problem(403, "private", "This image was fetched for one user alone; it wants a token.")
        }
        let isStale = entry.freshness.freshUntil <= time.now
        let source = source ?? (isStale ? "stale" : "hit")
        if transformation.isIdentity {
            guard let image = ServedImage(entry) else { throw .notFound("The entry holds no image.") }
            return send(image, visit, source: source)
        }
        guard let header = entry.header else { throw .notFound("The entry holds no image.") }
        if let reason = header.undecodable {
            throw Problem(
                422, "unsupported_format", "This build cannot decode it: \(reason). Ask for the image as it is.")
        }
        let isNegotiated = transformation.format == nil && negotiation.varies
        let format =
            isNegotiated
            ? negotiation.format(accept: visit.request.fields["Accept"], hasAlpha: header.hasAlpha)
            : transformation.format
        let order = try ThumbnailMaker.Order(entry, transformation, format: format)
        if let stored = thumbnails.stored(order, of: entry), let image = ServedImage(stored) {
            return send(image, visit, source: source, varies: isNegotiated, madeFrom: entry)
        }
        let verdict = allowance.verdict(
            transformation, kind: order.key.variant ?? "", isTrusted: visit.isTrusted)
        guard verdict != .refuse else {
            throw Problem(
                400, "size_not_allowed",
                "The size \(transformation.sizeText) is not among those that are made here: \(allowance.sizeList).")
        }
        return .later { [self] in
            do throws(ImageError) {
                let image = try await thumbnails.make(order, of: entry, keeps: verdict == .keep)
                // What was just made needs no second look.
                return answer(image, visit, source: "made", varies: isNegotiated)
            } catch {
                return Problem(error).answer.on(visit.name)
            }
        }
    }

    /// - Parameter madeFrom: what a thumbnail was made of.
    private func send(
        _ image: ServedImage, _ visit: Visit, source: String, varies: Bool = false, madeFrom: StoredEntry? = nil
    ) -> Response {
        guard case .entry(let entry, _, _) = image.body, let descriptor = entry.descriptor,
            let identity = VerifiedEntries.Identity(descriptor: descriptor)
        else { return .now(answer(image, visit, source: source, varies: varies)) }
        if verified.contains(identity) {
            var answer = answer(image, visit, source: source, varies: varies)
            answer.lease = lease(image, visit, answer, [entry] + [madeFrom].compactMap { $0 })
            return .now(answer)
        }
        return .later { [self] in
            do throws(ImageError) {
                try await verify(entry, identity)
                return answer(image, visit, source: source, varies: varies)
            } catch {
                if case .corrupt = error {
                    return Problem.notFound("The entry was damaged and has been set aside.").answer.on(visit.name)
                }
                return Problem(error).answer.on(visit.name)
            }
        }
    }

    /// Reads the bytes through once for all who want them.
    private func verify(_ entry: StoredEntry, _ identity: VerifiedEntries.Identity) async throws(ImageError) {
        let ticket = verifications.join(identity, priority: .normal) { [self] _ throws(ImageError) in
            guard !verified.contains(identity) else { return }
            do throws(ImageError) {
                try await readers.run { () throws(ImageError) in try entry.verifyPayload() }
            } catch {
                if case .corrupt = error { metrics.verified(isWhole: false) }
                throw error
            }
            verified.insert(identity)
            metrics.verified(isWhole: true)
        }
        try await verifications.wait(ticket)
    }

    /// The same answer holds until a number in its Cache-Control changes, a second at most, and while its files are
    /// in their places.
    private func lease(
        _ image: ServedImage, _ visit: Visit, _ answer: Answer, _ entries: [StoredEntry]
    ) -> AnswerLease? {
        guard answer.status == 200, !visit.mayReadPrivate, answer.code != "fetched" else { return nil }
        let checks = entries.compactMap { $0.placeCheck() }
        guard checks.count == entries.count else { return nil }
        let milliseconds = image.freshness.steadyMilliseconds(from: time.now)
        let epoch = epoch
        return AnswerLease(until: time.monotonic &+ UInt64(milliseconds) * 1_000_000) {
            epoch.now == visit.epoch && checks.allSatisfy { $0() }
        }
    }

    private func answer(_ image: ServedImage, _ visit: Visit, source: String, varies: Bool) -> Answer {
        image.answer(
            to: visit.request,
            ServedImage.Context(
                now: time.now, isShareable: visit.isShareable, isEmbeddable: visit.route.isSigned, varies: varies,
                source: source)
        ).on(visit.name)
    }
}
