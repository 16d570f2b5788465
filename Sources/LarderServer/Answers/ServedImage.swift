import Larder

/// An image that can be sent, and the fields that go with it.
package struct ServedImage: Sendable {
    package var format: ImageFormat
    /// Of the bytes that are sent, 32 bytes.
    package var sha256: [UInt8]
    package var length: Int
    package var modified: Timestamp
    package var freshness: StoredFreshness
    package var isPrivate: Bool
    package var body: Answer.Body
    /// False for what no cache may keep.
    package var mayBeStored = true

    /// nil for an entry that holds no image.
    package init?(_ entry: StoredEntry) {
        guard let format = entry.header?.format else { return nil }
        self.format = format
        sha256 = entry.sha256
        length = entry.payloadLength
        modified = entry.responseTime
        freshness = entry.freshness
        isPrivate = entry.isPrivate
        body = .entry(entry, offset: 0, length: entry.payloadLength)
    }

    package init(
        format: ImageFormat, bytes: [UInt8], modified: Timestamp, freshness: StoredFreshness, isPrivate: Bool
    ) {
        self.format = format
        sha256 = SHA256.digest(bytes)
        length = bytes.count
        self.modified = modified
        self.freshness = freshness
        self.isPrivate = isPrivate
        body = .bytes(bytes)
    }

    /// How an image is sent.
    package struct Context: Sendable {
        package var now: Timestamp
        /// Whether a cache that serves several people may keep it.
        package var isShareable: Bool
        /// Whether pages of other sites may show it.
        package var isEmbeddable = false
        /// The answer depends on Accept.
        package var varies = false
        /// For the access log: where it came from.
        package var source = ""

        package init(
            now: Timestamp, isShareable: Bool, isEmbeddable: Bool = false, varies: Bool = false, source: String = ""
        ) {
            self.now = now
            self.isShareable = isShareable
            self.isEmbeddable = isEmbeddable
            self.varies = varies
            self.source = source
        }
    }

    package func answer(to request: Request, _ context: Context) -> Answer {
        let etag = "\"\(sha256.prefix(16).hex)\""
        let preconditions = Preconditions(etag: etag, lastModified: modified, length: length)
        var fields = HTTPFields()
        fields.fields.reserveCapacity(10)
        fields.append("ETag", etag)
        fields.append("Last-Modified", HTTPDate.format(modified))
        fields.append("Cache-Control", cacheControl(context))
        if context.varies { fields.append("Vary", "Accept") }
        let outcome = preconditions.evaluate(request.fields, method: request.method, now: context.now)
        switch outcome {
        case .notModified: return Answer(304, fields: fields, code: context.source)
        case .failed:
            return Problem(412, "precondition_failed", "The image is another one than the request names.").answer
        case .unsatisfiable:
            let range: HTTPFields = ["Content-Range": "bytes */\(length)"]
            return Problem(416, "range_not_satisfiable", "The image has \(length) bytes.", fields: range).answer
        case .whole, .part: break
        }
        fields.append("Content-Type", format.contentType)
        fields.append("Accept-Ranges", "bytes")
        // Nothing in an image may run: an SVG opened on its own is a document of our origin otherwise.
        fields.append("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")
        fields.append("X-Content-Type-Options", "nosniff")
        // What is cached here tells where its owner has been: pages of other sites shall not find out.
        fields.append("Cross-Origin-Resource-Policy", context.isEmbeddable ? "cross-origin" : "same-site")
        guard case .part(let offset, let count) = outcome else {
            return Answer(200, fields: fields, body: body, code: context.source)
        }
        fields.append("Content-Range", "bytes \(offset)-\(offset + count - 1)/\(length)")
        return Answer(206, fields: fields, body: body.part(offset, count), code: context.source)
    }

    /// From what is left of the stored freshness, so that no Age field is needed.
    func cacheControl(_ context: Context) -> String {
        guard mayBeStored else { return "no-store" }
        let isShared = context.isShareable && !isPrivate
        var directives = [isShared ? "public" : "private"]
        let left = max(0, freshness.freshUntil.seconds(since: context.now))
        if freshness.noCache {
            directives.append("no-cache")
        } else {
            // A year at most: RFC 9111 §1.2.2 lets recipients hold numbers to 2^31, and some fail before.
            directives.append("max-age=\(min(left, 31_536_000))")
        }
        if freshness.mustRevalidate { directives.append("must-revalidate") }
        if freshness.immutable, left > 0 { directives.append("immutable") }
        let later = max(freshness.freshUntil, context.now)
        if freshness.staleWhileRevalidateUntil > later {
            let seconds = min(freshness.staleWhileRevalidateUntil.seconds(since: later), 31_536_000)
            directives.append("stale-while-revalidate=\(seconds)")
        }
        return directives.joined(separator: ", ")
    }
}

extension Answer.Body {
    /// A part that lies within the body.
    package func part(_ offset: Int, _ count: Int) -> Answer.Body {
        switch self {
        case .bytes(let bytes): .bytes(Array(bytes[offset..<offset + count]))
        case .entry(let entry, let start, _): .entry(entry, offset: start + offset, length: count)
        }
    }
}

extension StoredFreshness {
    /// For how long nothing that is said of this freshness changes: it is counted in whole seconds.
    func steadyMilliseconds(from now: Timestamp) -> Int {
        var steady: Int64 = 1000
        for time in [freshUntil, staleWhileRevalidateUntil] where time > now {
            let (left, overflow) = time.milliseconds.subtractingReportingOverflow(now.milliseconds)
            // At the very second the number holds for that moment alone.
            if !overflow { steady = min(steady, left % 1000) }
        }
        return Int(steady)
    }
}
