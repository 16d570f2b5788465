/// `robots.txt` of every origin that is fetched from, kept for a day: `--robots`.
///
/// A missing file allows everything; one that cannot be had for a fault of the server or the network forbids
/// everything for a while (RFC 9309 §2.3.1). At most `maxOrigins` files are kept; callers that want the same file at
/// once share one request. Safe from any thread.
package final class RobotsPolicy: Sendable {
    /// Status and body of the `robots.txt` at that URL, redirects followed; the body up to ``RobotsFile/maxBytes``.
    package typealias Fetch = @Sendable (NormalizedURL) async throws(ImageError) -> (status: Int, body: [UInt8])

    private struct Kept {
        var file: RobotsFile
        var until: Timestamp
    }

    private let agent: String
    private let maxOrigins: Int
    private let time: any TimeSource
    private let kept = Lock<[String: Kept]>([:])
    private let coalescer = Coalescer<String, RobotsFile>()

    private static let lifetime: Int64 = 86_400
    private static let lifetimeOfFaults: Int64 = 600

    /// - Parameter agent: our product token in lower case.
    package init(agent: String = "larder", maxOrigins: Int = 1000, time: any TimeSource = SystemTime()) {
        self.agent = agent
        self.maxOrigins = max(1, maxOrigins)
        self.time = time
    }

    /// How many files are kept, for tests.
    package var count: Int { kept.withLock { $0.count } }

    /// Whether the URL may be fetched.
    ///
    /// - Throws: ``ImageError/refused(_:_:)`` with `.robots` where it may not; ``ImageError/cancelled(_:)``.
    package func check(_ url: NormalizedURL, fetch: @escaping Fetch) async throws(ImageError) {
        // The file itself may always be asked for.
        if url.target == "/robots.txt" { return }
        let file = try await file(url.origin, fetch)
        guard file.permits(url.target) else {
            throw .refused(.robots, .init("robots.txt of \(url.origin) does not allow it", url: url.string))
        }
    }

    private func file(_ origin: String, _ fetch: @escaping Fetch) async throws(ImageError) -> RobotsFile {
        let now = time.now
        if let found = kept.withLock({ $0[origin] }), now < found.until { return found.file }
        let ticket = coalescer.join(origin, priority: .normal) { [self] _ throws(ImageError) in
            let (file, lifetime) = try await load(origin, fetch)
            keep(file, for: origin, lifetime)
            return file
        }
        return try await coalescer.wait(ticket)
    }

    private func load(_ origin: String, _ fetch: Fetch) async throws(ImageError) -> (RobotsFile, Int64) {
        do throws(ImageError) {
            let (status, body) = try await fetch(NormalizedURL(origin + "/robots.txt"))
            switch status {
            case 200...299: return (RobotsFile(body, agent: agent), Self.lifetime)
            case 429, 500...599: return (.allowsNothing, Self.lifetimeOfFaults)
            default: return (.allowsAll, Self.lifetime)
            }
        } catch {
            if case .cancelled = error { throw error }
            // A redirect that leads nowhere, a policy of ours: no file.
            if case .refused = error { return (.allowsAll, Self.lifetimeOfFaults) }
            return (.allowsNothing, Self.lifetimeOfFaults)
        }
    }

    private func keep(_ file: RobotsFile, for origin: String, _ lifetime: Int64) {
        let now = time.now
        kept.withLock { kept in
            kept[origin] = Kept(file: file, until: now.adding(seconds: lifetime))
            guard kept.count > maxOrigins else { return }
            let oldest = kept.sorted { $0.value.until < $1.value.until }.prefix(max(1, maxOrigins / 8))
            for (origin, _) in oldest { kept[origin] = nil }
        }
    }
}
