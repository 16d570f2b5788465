import Larder

/// Answers requests through a ``CachingFetcher``, as a cache between a client and one server does: so that a test
/// suite for HTTP caches can be pointed at it. For tests; it keeps no limits that a server on a network needs.
package struct Relay: Sendable {
    private let upstream: String
    private let fetcher: CachingFetcher
    private let time: any TimeSource

    /// - Parameters:
    ///   - upstream: the origin that everything is asked of; its path is left out.
    ///   - fetcher: over a client that hands redirects on.
    package init(upstream: NormalizedURL, fetcher: CachingFetcher, time: any TimeSource = SystemTime()) {
        self.upstream = upstream.origin
        self.fetcher = fetcher
        self.time = time
    }

    package struct Request: Sendable {
        package var method: String
        /// Path and query.
        package var target: String
        package var fields: HTTPFields
        package var body: [UInt8]

        package init(method: String, target: String, fields: HTTPFields = .init(), body: [UInt8] = []) {
            self.method = method
            self.target = target
            self.fields = fields
            self.body = body
        }
    }

    package struct Answer: Sendable {
        package var status: Int
        package var fields: HTTPFields
        package var body: [UInt8]
        /// The body's length where there is none of it: for HEAD.
        package var length: Int?
    }

    package func answer(_ request: Request) async -> Answer {
        do throws(ImageError) {
            let url = try NormalizedURL(upstream + request.target)
            let fields = Self.forwarded(request.fields)
            guard ["GET", "HEAD"].contains(request.method) else {
                let answer = try await fetcher.forward(url, method: request.method, fields: fields, body: request.body)
                return Answer(status: answer.status, fields: Self.endToEnd(answer.fields), body: answer.body)
            }
            var fetch = FetchRequest(url: url, fields: fields, content: .any)
            fetch.method = request.method
            return try await answer(request, try await fetcher.fetch(fetch))
        } catch {
            let status =
                switch error {
                case .notCached: 504
                case .invalidURL: 400
                default: error.gatewayStatus
                }
            return Answer(status: status, fields: ["Content-Type": "text/plain"], body: Array("\(error.code)\n".utf8))
        }
    }

    private func answer(_ request: Request, _ result: FetchResult) async throws(ImageError) -> Answer {
        if let received = result.received {
            let body = try result.readPayload()
            return Answer(
                status: result.status, fields: Self.endToEnd(received), body: body,
                length: request.method == "HEAD" ? received.first("content-length").flatMap { Int($0) } : nil)
        }
        let metadata = try result.metadata()
        var fields = metadata.fields
        // What comes from a store says how old it is (RFC 9111 §4), and nothing else that the server did not say.
        let freshness = Freshness(
            status: metadata.status, fields: metadata.fields, requestTime: metadata.requestTime,
            responseTime: metadata.responseTime)
        fields["Age"] = String(freshness.age(now: time.now))
        let validators = Validators(metadata.fields, now: time.now)
        if metadata.status == 200,
            validators.areCurrent(for: request.fields, storedAt: metadata.responseTime, now: time.now)
        {
            fields.fields.removeAll {
                ["content-length", "content-type", "content-encoding"].contains($0.name.lowercased())
            }
            return Answer(status: 304, fields: fields, body: [])
        }
        let body = try result.readPayload()
        if request.method == "HEAD" {
            return Answer(status: metadata.status, fields: fields, body: [], length: body.count)
        }
        if metadata.status == 200, let range = Self.range(request.fields, body.count, validators) {
            fields["Content-Range"] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.count)"
            return Answer(status: 206, fields: fields, body: Array(body[range]))
        }
        return Answer(status: metadata.status, fields: fields, body: body)
    }

    /// The one range that a request asks for, where it can be had (RFC 9110 §14.2).
    private static func range(_ request: HTTPFields, _ count: Int, _ validators: Validators) -> Range<Int>? {
        guard let text = request.first("range"), text.hasPrefix("bytes="), !text.contains(",") else {
            return nil
        }
        if let condition = request.first("if-range"), condition != validators.ifRange { return nil }
        let parts = text.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        if parts[0].isEmpty {
            guard let length = Int(parts[1]), length > 0, count > 0 else { return nil }
            return max(0, count - length)..<count
        }
        guard let start = Int(parts[0]), start >= 0, start < count else { return nil }
        guard !parts[1].isEmpty else { return start..<count }
        guard let end = Int(parts[1]), end >= start else { return nil }
        return start..<min(end, count - 1) + 1
    }

    /// Request fields that go on to the server.
    private static func forwarded(_ fields: HTTPFields) -> HTTPFields {
        var fields = endToEnd(fields)
        fields.fields.removeAll { ["host", "content-length", "expect"].contains($0.name.lowercased()) }
        return fields
    }

    /// Without the fields of the connection (RFC 9110 §7.6.1); cookies belong to the client and pass.
    private static func endToEnd(_ fields: HTTPFields) -> HTTPFields {
        let named = fields.values("connection").flatMap { $0.split(separator: ",") }
            .map { $0.lowercased().filter { $0 != " " } }
        return HTTPFields(
            fields.fields.filter { field in
                let name = field.name.lowercased()
                return !named.contains(name)
                    && (name.hasPrefix("set-cookie") || !Storability.connectionFields.contains(name))
            })
    }
}
