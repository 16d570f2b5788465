import Larder

/// Answers requests from a cache directory. Knows no socket: a daemon, or a test, hands it requests.
package final class ImageServer: RequestHandler {
    private let configuration: ServerConfiguration
    private let time: any TimeSource
    private let hosts: HostCheck
    /// For what reads the index or whole files; thumbnails have threads of their own, so that nothing waits behind them.
    private let readers: WorkPool
    private let images: ImageDelivery
    private let listing: EntryListing
    private let keys: Lock<Keys>
    private let accessLog: AccessLog?
    private let epoch = Epoch()
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
        self.accessLog = accessLog
        self.time = time
        hosts = HostCheck(serverNames: configuration.serverNames)
        metrics = Metrics()
        readers = WorkPool(name: "larder-read", width: configuration.workers, queue: configuration.queue)
        images = ImageDelivery(
            tier: tier, readThrough: readThrough, readers: readers, configuration: configuration, metrics: metrics,
            epoch: epoch, time: time)
        listing = EntryListing(tier: tier, time: time)
        let others: [StaticString] = [
            "user-agent", "accept-encoding", "accept-language", "connection", "keep-alive", "cache-control", "pragma",
            "referer", "via", "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip",
            "x-request-id", "traceparent", "dnt", "upgrade-insecure-requests",
        ]
        indifferentFields = images.varies ? others : others + ["accept"]
        keys = Lock(Self.keys(access, configuration))
    }

    /// Puts a new token and key in force; sessions of the old token end.
    package func reload(_ access: AccessControl) {
        keys.withLock { $0 = Self.keys(access, configuration) }
        epoch.end()
    }

    private static func keys(_ access: AccessControl, _ configuration: ServerConfiguration) -> Keys {
        Keys(access: access, router: Router(signer: access.signer, encoders: configuration.encoders))
    }

    // MARK: - RequestHandler

    /// Whoever adds a field that an answer depends on takes it from here. Programs, proxies and the gallery's images
    /// send these; what browsers say of other sites is not among them.
    package let indifferentFields: [StaticString]

    package var wantsRequests: Bool { accessLog != nil }

    package func connection(opened: Bool) { metrics.connection(opened: opened) }
    package func connectionTimedOut() { metrics.rejectedConnection() }

    package func completed(_ request: Request, _ answer: Answer, seconds: Double) {
        let bytes = request.method == .head ? 0 : answer.body.length
        metrics.request(
            route: answer.route, status: answer.status, bytes: bytes, seconds: seconds,
            source: Metrics.Source(answerCode: answer.code))
        accessLog?.write(
            AccessLog.Line(
                time: time.now, peer: request.peer, method: request.method.name, target: request.target,
                route: answer.route.rawValue, status: answer.status, bytes: bytes, milliseconds: seconds * 1000,
                code: answer.code, agent: request.fields["User-Agent"] ?? ""))
    }

    package func respond(to request: Request) -> Response {
        var name = Route.Name.none
        do throws(Problem) {
            let target = try RequestTarget(request.target)
            let host = target.authority ?? request.fields["Host"]
            guard host.map(hosts.allows) ?? true else {
                throw Problem(
                    421, "unknown_host",
                    "This server does not answer to the name '\((host ?? "").prefix(80))'. If it should: --server-name."
                )
            }
            return try respond(to: request, target, host, &name)
        } catch {
            return .now(error.answer.on(name))
        }
    }

    // MARK: - Routes

    private func respond(
        to request: Request, _ target: RequestTarget, _ host: String?, _ name: inout Route.Name
    ) throws(Problem) -> Response {
        let epoch = epoch.now
        let keys = keys.withLock { $0 }
        let route = try keys.router.route(request.method, target)
        name = route.name
        try CrossSiteCheck.check(route, request, host: host)
        let now = time.now
        let standing = keys.access.standing(of: request.fields, now: now)
        try keys.access.check(route, standing)
        let visit = Visit(request, route, standing, keys.access, epoch: epoch)
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
        case .removeEntry(let hash):
            return later(visit) { [self] in
                defer { self.epoch.end() }
                return listing.remove(hash)
            }
        case .file(let hash, let transformation): return try images.file(hash, transformation, visit)
        case .image(let url, let transformation, _): return try images.image(url, transformation, visit)
        }
    }

    /// Answers from a thread that may read.
    private func later(_ visit: Visit, _ work: @escaping @Sendable () -> Result<Answer, Problem>) -> Response {
        .later { [readers] in
            do throws(ImageError) {
                let result = try await readers.run { () throws(ImageError) in work() }
                switch result {
                case .success(let answer): return answer.on(visit.name)
                case .failure(let problem): return problem.answer.on(visit.name)
                }
            } catch {
                return Problem(error).answer.on(visit.name)
            }
        }
    }

    // MARK: - The small ones

    private func gallery(_ request: Request) -> Answer {
        let page = GalleryPage.answer
        guard let known = request.fields["If-None-Match"], let tag = page.fields["ETag"], known == tag else {
            return page.on(.gallery)
        }
        return Answer(304, fields: page.fields).on(.gallery)
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
        gauges.running = readers.running + images.makers.running
        gauges.waiting = readers.waiting + images.waitingThumbnails
        return Answer(
            200,
            fields: [
                "Content-Type": "text/plain; version=0.0.4; charset=utf-8", "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
            ], body: .bytes(metrics.text(gauges)))
    }
}
