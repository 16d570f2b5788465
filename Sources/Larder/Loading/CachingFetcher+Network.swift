import Foundation

/// The way over the network: leave to ask, attempts, and what stands in where all have failed.
extension CachingFetcher {
    /// What is sent for a request, conditions and ranges apart.
    func sentFields(_ request: FetchRequest) -> HTTPFields {
        var fields = request.fields
        // Without it a transport may ask for a coding of its own, and lengths would not be those of the image.
        if !fields.contains("accept-encoding") { fields.append("Accept-Encoding", "identity") }
        if !request.takesAnything, !fields.contains("user-agent") {
            fields.append("User-Agent", configuration.userAgent)
        }
        return fields
    }

    func ask(_ plan: FetchPlan) async throws(ImageError) -> FetchResult {
        try await checkRobots(plan.request.url)
        var plan = plan
        var attempts = 0
        var failures = 0
        // The clock runs from the first turn on: waiting for our own limits is not the server's fault.
        var deadline = plan.deadline
        let origin = plan.request.url.origin
        while true {
            do throws(ImageError) {
                try breaker.check(origin)
            } catch {
                return try await standIn(plan, for: error, attempts: attempts)
            }
            do throws(ImageError) {
                attempts += 1
                var result = try await attempt(&plan, origin, attempts: &attempts, deadline: &deadline)
                result.attempts = attempts
                return result
            } catch {
                failures += 1
                let stands = mayStandIn(plan, for: error)
                let remaining = deadline.map { Double($0 - min($0, time.monotonic)) / 1e9 } ?? 0
                let delay = configuration.retries.delay(
                    after: error, failures: failures, remaining: remaining, random: random)
                // Who has a stored image gets it now, not after a row of retries.
                guard !stands, let delay, ["GET", "HEAD"].contains(plan.method) else {
                    return try await standIn(plan, for: error, attempts: attempts)
                }
                configuration.observer?(.retrying(error, after: delay), plan.key)
                do { try await time.sleep(seconds: delay) } catch {
                    throw .cancelled(.init("cancelled before a retry"))
                }
            }
        }
    }

    /// One turn: asks, reads the body, gives the turn back, stores.
    private func attempt(
        _ plan: inout FetchPlan, _ origin: String, attempts: inout Int, deadline: inout UInt64?
    ) async throws(ImageError) -> FetchResult {
        while true {
            let answer: Answer
            let turn = Turn(origin, limiter: limiter, breaker: breaker, priority: plan.priority)
            do throws(ImageError) {
                try await turn.begin()
                let end = deadline ?? time.deadline(in: plan.request.deadlines.total)
                deadline = end
                answer = try await exchange(&plan, turn, attempt: attempts, deadline: end)
            } catch {
                turn.end(error)
                throw error
            }
            turn.end(nil)
            switch answer {
            case .again:
                attempts += 1
            case .notModified(let stored, let metadata):
                if let result = try await refresh(plan, stored, metadata) { return result }
                // The stored bytes have gone or are damaged: they are asked for anew.
                plan.stored = nil
                attempts += 1
            case .received(var body, let metadata, let mismatch, let fields):
                var result = try await body.commit(metadata, sha256: plan.request.sha256)
                result.contentTypeMismatch = mismatch
                result.mayReplace =
                    plan.request.policy == .reload || plan.stored.map { $0.metadata.sha256 != result.sha256 } ?? false
                if plan.request.takesAnything { result.received = fields }
                forgetFailure(plan)
                if case .entry(let entry) = result.payload, entry.isStored {
                    if let old = plan.stored?.entry.key, old != entry.key {
                        executor.detach { [disk] in disk?.remove(only: old) }
                    }
                    configuration.observer?(.stored(bytes: entry.payloadLength), plan.key)
                }
                return result
            }
        }
    }

    /// Stores a confirmed entry with its new fields; nil where its payload is not to be had any more.
    private func refresh(
        _ plan: FetchPlan, _ stored: Stored, _ metadata: EntryMetadata
    ) async throws(ImageError) -> FetchResult? {
        guard let disk else { return nil }
        let entry = try await executor.run { () throws(ImageError) -> StoredEntry? in
            do throws(ImageError) { return try disk.refresh(stored.entry, metadata) } catch {
                switch error {
                case .corrupt, .cacheUnavailable: return nil
                default: throw error
                }
            }
        }
        guard let entry else { return nil }
        configuration.observer?(.revalidated, plan.key)
        var result = FetchResult(.entry(entry), source: .revalidated, status: 304)
        result.isUnkept = !entry.isStored
        return result
    }

    // MARK: What stands in

    private func mayStandIn(_ plan: FetchPlan, for error: ImageError) -> Bool {
        guard let stored = plan.stored else { return false }
        return Reuse.mayServeOnError(
            stored.entry.freshness, policy: plan.request.policy, error: error, now: time.now)
    }

    /// The stored response, where it may be used though asking has failed; else the failure.
    private func standIn(
        _ plan: FetchPlan, for error: ImageError, attempts: Int
    ) async throws(ImageError) -> FetchResult {
        guard let stored = plan.stored, mayStandIn(plan, for: error) else {
            remember(error, plan.request, plan.key)
            throw error.mapDetails { $0.attempts = attempts }
        }
        configuration.observer?(.servedStale(error), plan.key)
        var result = Self.hit(stored.entry, isStale: time.now >= stored.entry.freshness.freshUntil)
        result.attempts = attempts
        return result
    }

    // MARK: robots.txt

    private func checkRobots(_ url: NormalizedURL) async throws(ImageError) {
        guard let robots else { return }
        try await robots.check(url) { [self] url throws(ImageError) in try await robotsFile(url) }
    }

    /// What holds for the URL that was asked for holds for every one that a redirect leads to.
    func follow(_ url: URL, _ turn: Turn) async throws(ImageError) {
        let url = try NormalizedURL(url)
        try await checkRobots(url)
        try await turn.move(to: url.origin)
    }

    private func robotsFile(_ url: NormalizedURL) async throws(ImageError) -> (status: Int, body: [UInt8]) {
        let request = TransportRequest(
            url: try url.url(), fields: ["User-Agent": configuration.userAgent, "Accept-Encoding": "identity"],
            deadlines: Deadlines(total: 20), addresses: configuration.addresses)
        let response = try await client.open(request, deadline: nil)
        var body: [UInt8] = []
        while body.count < RobotsFile.maxBytes, let bytes = try await response.body.next() { body += bytes }
        response.body.cancel()
        return (response.status, body)
    }
}
