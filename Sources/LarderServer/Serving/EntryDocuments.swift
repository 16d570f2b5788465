import Larder

/// `/api/entries`.
struct EntryPage: Encodable {
    var total: Int
    var offset: Int
    var entries: [EntrySummary]
}

/// One image in a list: what a tile shows.
struct EntrySummary: Encodable {
    struct Failure: Encodable {
        var code: String
        var status: Int?
        var message: String
        var until: String
    }

    var key: String
    var file: String
    var url: String
    var variant: String?
    var format: String?
    var width: Int?
    var height: Int?
    var orientation: Int?
    var bytes: Int64?
    var storedAt: String?
    var freshUntil: String?
    var isPrivate: Bool?
    var canDecode: Bool?
    var error: Failure?

    init(_ entry: StoredEntry, now: Timestamp) {
        key = entry.key.hash.description
        file = entry.file
        url = entry.key.url
        variant = entry.key.variant
        format = entry.header?.format.rawValue
        width = entry.header?.width
        height = entry.header?.height
        orientation = entry.header.map { Int($0.orientation.rawValue) }
        bytes = Int64(entry.payloadLength)
        storedAt = entry.storedAt.iso8601
        freshUntil = entry.freshness.freshUntil.iso8601Held
        isPrivate = entry.isPrivate
        canDecode = entry.header.map { $0.undecodable == nil }
    }

    /// From the index alone: the file has just gone, or is damaged.
    init(_ row: IndexRow, now: Timestamp) {
        key = row.hash.description
        file = row.file
        url = row.url
        variant = row.variant
        format = row.format
        width = row.width
        height = row.height
        bytes = row.length
        storedAt = row.storedAt.iso8601
        freshUntil = row.expires.iso8601Held
        isPrivate = row.isPrivate
        canDecode = true
    }

    init(_ failure: ListedFailure) {
        key = failure.hash.description
        let name = key
        file = name.prefix(2) + "/" + name.dropFirst(2)
        url = failure.url
        // `http_status:404`: the code that everybody knows, and the status.
        let parts = failure.code.split(separator: ":", maxSplits: 1)
        let code = parts.first.map(String.init) ?? failure.code
        let status = parts.count > 1 ? Int(parts[1]) : nil
        error = Failure(
            code: code, status: status, message: Self.message(of: code, status),
            until: failure.until.iso8601Held)
    }
}

extension EntrySummary {
    /// What a failure's code means, where nothing more of it is known.
    private static func message(of code: String, _ status: Int?) -> String {
        let known: [ImageError] = [
            .invalidURL(.init()), .refused(.host, .init()), .unreachable(.init()), .timedOut(.total, .init()),
            .truncated(.init()), .notAnImage(.init()), .unsupportedFormat(.init()), .corrupt(.init()),
            .tooLarge(.init()), .hashMismatch(.init()), .cacheUnavailable(.init()),
        ]
        if code == "http_status" {
            if let status { return ImageError.httpStatus(status, .init()).message(in: .english) }
            return "Its server answered with an error instead of an image."
        }
        return known.first { $0.code == code }?.message(in: .english) ?? ""
    }
}

/// `/api/entries/KEY`.
struct EntryDetail: Encodable {
    struct Header: Encodable {
        var color: String?
        var bitDepth: Int?
        var hasAlpha: Bool
        var isProgressive: Bool
        var frames: Int
        var iccBytes: Int
        var undecodable: String?
    }

    struct Freshness: Encodable {
        var freshUntil: String
        var staleWhileRevalidateUntil: String?
        var staleIfErrorUntil: String?
        var mustRevalidate: Bool
        var noCache: Bool
        var immutable: Bool
    }

    struct Field: Encodable {
        var name: String
        var value: String
    }

    var summary: EntrySummary
    var finalUrl: String
    var sha256: String
    var status: Int
    var requestTime: String
    var responseTime: String
    var header: Header?
    var freshness: Freshness
    var fields: [Field]
    var variants: [EntrySummary]

    init(_ entry: StoredEntry, metadata: EntryMetadata, variants: [EntrySummary], now: Timestamp) {
        summary = EntrySummary(entry, now: now)
        finalUrl = metadata.finalURL
        sha256 = entry.sha256.hex
        status = entry.status
        requestTime = entry.requestTime.iso8601
        responseTime = entry.responseTime.iso8601
        header = entry.header.map {
            Header(
                color: $0.color?.rawValue, bitDepth: $0.bitDepth, hasAlpha: $0.hasAlpha,
                isProgressive: $0.isProgressive, frames: $0.frames, iccBytes: $0.iccBytes, undecodable: $0.undecodable)
        }
        let stored = entry.freshness
        func later(_ time: Timestamp) -> String? { time > stored.freshUntil ? time.iso8601Held : nil }
        freshness = Freshness(
            freshUntil: stored.freshUntil.iso8601Held,
            staleWhileRevalidateUntil: later(stored.staleWhileRevalidateUntil),
            staleIfErrorUntil: later(stored.staleIfErrorUntil), mustRevalidate: stored.mustRevalidate,
            noCache: stored.noCache, immutable: stored.immutable)
        fields = metadata.fields.fields.map { Field(name: $0.name, value: $0.value) }
        self.variants = variants
    }

    enum CodingKeys: CodingKey {
        case finalUrl, sha256, status, requestTime, responseTime, header, freshness, fields, variants
    }

    /// The summary's members stand beside these.
    func encode(to encoder: any Encoder) throws {
        try summary.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(finalUrl, forKey: .finalUrl)
        try container.encode(sha256, forKey: .sha256)
        try container.encode(status, forKey: .status)
        try container.encode(requestTime, forKey: .requestTime)
        try container.encode(responseTime, forKey: .responseTime)
        try container.encodeIfPresent(header, forKey: .header)
        try container.encode(freshness, forKey: .freshness)
        try container.encode(fields, forKey: .fields)
        try container.encode(variants, forKey: .variants)
    }
}

/// `/api/stats`.
struct EntryStatistics: Encodable {
    var images: Int
    var variants: Int
    var fresh: Int
    var stale: Int
    var failures: Int
    var bytes: Int64
    var limitBytes: Int64
    var formats: [String: Int]

    init(_ statistics: CacheStatistics, originals: OriginalCounts) {
        images = originals.count
        variants = statistics.variants.count
        stale = originals.stale
        fresh = images - stale
        failures = statistics.failures
        bytes = statistics.entries.bytes
        limitBytes = statistics.maximumBytes
        formats = originals.formats
    }
}
