import Larder

/// Answers requests from a cache directory. Knows no socket: a daemon, or a test, hands it requests.
package final class ImageServer: RequestHandler {
    private let configuration: ServerConfiguration
    private let tier: DiskTier
    private let readThrough: (any ReadThrough)?
    private let time: any TimeSource
    private let hosts: HostCheck
    private let negotiation: FormatNegotiation
    private let allowance: VariantAllowance
    private let verified = VerifiedEntries()
    private let pool: WorkPool
    private let thumbnails: ThumbnailMaker
    private let listing: EntryListing
    private let fetches = Lock(0)
    private let keys: Lock<Keys>
    private let accessLog: AccessLog?
    package let metrics: Metrics

    /// What a reload replaces.
    private struct Keys: Sendable {
        var access: AccessControl
        var router: Router
    }

    /// - Parameters:
    ///   - readThrough: nil for a server that never uses the network.
    package init(
        tier: DiskTier, access: AccessControl, configuration: ServerConfiguration = .init(),
        readThrough: (any ReadThrough)? = nil, accessLog: AccessLog? = nil, time: any TimeSource = SystemTime()
    ) {
        self.configuration = configuration
        self.tier = tier
        self.readThrough = readThrough
        self.accessLog = accessLog
        self.time = time
        hosts = HostCheck(serverNames: configuration.serverNames)
        negotiation = FormatNegotiation(encoders: configuration.encoders)
        // The gallery's own sizes are always among those that are allowed.
        allowance = VariantAllowance(
            sizes: configuration.allowedSizes.map { $0.union(["320x320", "640x640", "1600x1600"]) })
        metrics = Metrics()
        pool = WorkPool(name: "larder-serve", width: configuration.workers, queue: configuration.queue)
        thumbnails = ThumbnailMaker(
            tier: tier, pool: pool, limits: configuration.limits, time: time, metrics: metrics)
        listing = EntryListing(tier: tier, time: time)
        keys = Lock(Self.keys(access, configuration))
    }

    /// Puts a new token and key in force; sessions of the old token end.
    package func reload(_ access: AccessControl) { keys.withLock { $0 = Self.keys(access, configuration) } }

    private static func keys(_ access: AccessControl, _ configuration: ServerConfiguration) -> Keys {
        Keys(access: access, router: Router(signer: access.signer, encoders: configuration.encoders))
    }

    // MARK: - RequestHandler

    package func connection(opened: Bool) { metrics.connection(opened: opened) }
    package func connectionTimedOut() { metrics.rejectedConnection() }

    package func completed(_ request: Request, _ answer: Answer, seconds: Double) {
        let bytes = request.method == .head ? 0 : answer.body.length
        metrics.request(route: answer.route, status: answer.status, bytes: bytes, seconds: seconds)
        accessLog?.write(
            AccessLog.Line(
                time: time.now, peer: request.peer, method: request.method.name, target: request.target,
                route: answer.route, status: answer.status, bytes: bytes, milliseconds: seconds * 1000,
                code: answer.code, agent: request.fields["User-Agent"] ?? ""))
    }

    package func respond(to request: Request) -> Response {
        var name = "none"
        do throws(Problem) {
            let target = try RequestTarget(request.target)
            guard let host = target.authority ?? request.fields["Host"] else {
                return try respond(to: request, target, &name)
            }
            guard hosts.allows(host) else {
                throw Problem(
                    421, "unknown_host",
                    "This server does not answer to the name '\(host.prefix(80))'. If it should: --server-name.")
            }
            return try respond(to: request, target, &name)
        } catch {
            return .now(error.answer.on(name))
        }
    }

    // MARK: - Routes

    private func respond(
        to request: Request, _ target: RequestTarget, _ name: inout String
    ) throws(Problem) -> Response {
        let keys = keys.withLock { $0 }
        let route = try keys.router.route(request.method, target)
        name = route.name
        let now = time.now
        let standing = keys.access.standing(of: request.fields, now: now)
        try keys.access.check(route, standing)
        let visit = Visit(
            request: request, route: route, name: name, standing: standing,
            isTrusted: standing > .anonymous || route.isSigned,
            mayReadPrivate: standing > .anonymous,
            isShareable: keys.access.allowsSharedCaching(route))
        switch route {
        case .gallery: return .now(gallery(request))
        case .login: return .now(login(request, keys.access, now).on(name))
        case .logout: return .now(logout(request).on(name))
        case .health: return .now(JSONAnswer.answer(["status": "ok"]).on(name))
        case .metrics: return later(visit) { [self] in .success(metricsAnswer()) }
        case .stats: return later(visit) { [listing] in listing.stats(withPrivate: visit.mayReadPrivate) }
        case .entries(let query):
            return later(visit) { [listing] in listing.entries(query, withPrivate: visit.mayReadPrivate) }
        case .entry(let hash):
            return later(visit) { [listing] in listing.entry(hash, withPrivate: visit.mayReadPrivate) }
        case .removeEntry(let hash): return later(visit) { [listing] in listing.remove(hash) }
        case .file(let hash, let transformation):
            guard let entry = tier.entry(named: hash) else {
                metrics.image(.miss)
                throw .notFound("There is no entry of that name.")
            }
            return try serve(entry, transformation, visit)
        case .image(let url, let transformation, _):
            return try image(url, transformation, visit)
        }
    }

    /// What is known of one request while it is answered.
    private struct Visit: Sendable {
        var request: Request
        var route: Route
        var name: String
        var standing: AccessControl.Standing
        var isTrusted: Bool
        var mayReadPrivate: Bool
        var isShareable: Bool
    }

    /// Answers from a thread of the pool: what reads the index or whole files.
    private func later(_ visit: Visit, _ work: @escaping @Sendable () -> Result<Answer, Problem>) -> Response {
        .later { [pool] in
            do throws(ImageError) {
                let result = try await pool.run { () throws(ImageError) in work() }
                switch result {
                case .success(let answer): return answer.on(visit.name)
                case .failure(let problem): return problem.answer.on(visit.name)
                }
            } catch {
                return Problem(error).answer.on(visit.name)
            }
        }
    }

    private func image(_ url: String, _ transformation: Transformation, _ visit: Visit) throws(Problem) -> Response {
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
        let isAdmitted = fetches.withLock { count -> Bool in
            guard count < configuration.maxFetches else { return false }
            count += 1
            return true
        }
        guard isAdmitted else {
            return Problem.busy("Too many images are being fetched already.", retryAfter: 2).answer.on(visit.name)
        }
        defer { fetches.withLock { $0 -= 1 } }
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
        metrics.image(.fetched)
        do throws(Problem) {
            switch try serve(entry, transformation, visit, source: "fetched") {
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
            if source != "fetched" { metrics.image(isStale ? .stale : .hit) }
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
            if source != "fetched" { metrics.image(isStale ? .stale : .hit) }
            return send(image, visit, source: source, varies: isNegotiated)
        }
        let verdict = allowance.verdict(
            transformation, kind: order.key.variant ?? "", isTrusted: visit.isTrusted)
        guard verdict != .refuse else {
            throw Problem(
                400, "size_not_allowed",
                "The size \(transformation.sizeText) is not among those that are made here: \(allowance.sizeList).")
        }
        metrics.image(.made)
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

    private func send(_ image: ServedImage, _ visit: Visit, source: String, varies: Bool = false) -> Response {
        guard case .entry(let entry, _, _) = image.body, let descriptor = entry.descriptor,
            let identity = VerifiedEntries.Identity(descriptor: descriptor), !verified.contains(identity)
        else { return .now(answer(image, visit, source: source, varies: varies)) }
        return .later { [self] in
            do throws(ImageError) {
                try await pool.run { () throws(ImageError) in try entry.verifyPayload() }
                verified.insert(identity)
                metrics.verified(isWhole: true)
                return answer(image, visit, source: source, varies: varies)
            } catch {
                if case .corrupt = error {
                    metrics.verified(isWhole: false)
                    return Problem.notFound("The entry was damaged and has been set aside.").answer.on(visit.name)
                }
                return Problem(error).answer.on(visit.name)
            }
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

    // MARK: - The small ones

    private func gallery(_ request: Request) -> Answer {
        let page = GalleryPage.answer
        guard let known = request.fields["If-None-Match"], let tag = page.fields["ETag"], known == tag else {
            return page.on("gallery")
        }
        return Answer(304, fields: page.fields).on("gallery")
    }

    private func login(_ request: Request, _ access: AccessControl, _ now: Timestamp) -> Answer {
        guard let token = access.token else { return Problem(403, "no_token", "There is no token.").answer }
        let cookie = SessionCookie.field(
            SessionCookie.make(token: token, now: now), isSecure: isSecure(request))
        return Answer(204, fields: ["Set-Cookie": cookie, "Cache-Control": "no-store"])
    }

    private func logout(_ request: Request) -> Answer {
        let cookie = SessionCookie.field("", isSecure: isSecure(request), age: 0)
        return Answer(204, fields: ["Set-Cookie": cookie, "Cache-Control": "no-store"])
    }

    /// What a proxy says of the client's connection. A client that lies harms only itself.
    private func isSecure(_ request: Request) -> Bool { request.fields["X-Forwarded-Proto"] == "https" }

    private func metricsAnswer() -> Answer {
        var gauges = listing.gauges()
        gauges.running = pool.running
        gauges.waiting = pool.waiting
        return Answer(
            200, fields: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store"],
            body: .bytes(metrics.text(gauges)))
    }
}

extension Route {
    /// Whether the holder of the key has asked for it.
    fileprivate var isSigned: Bool { if case .image(_, _, .signature) = self { true } else { false } }
}
