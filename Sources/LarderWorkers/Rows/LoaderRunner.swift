import Foundation
import Larder

/// Runs rows in this process, by an ``ImageLoader``.
package final class LoaderRunner: RowRunner {
    package struct Configuration: Sendable {
        /// Thumbnails of rows that name none of their own.
        package var sizes: [ThumbnailSize] = []
        /// Fill the box and cut off the rest.
        package var crops = false
        package var fields = HTTPFields()
        /// The origin that alone is sent the credentials among `fields`, as `https://host:443`; nil: every one is.
        package var credentialOrigin: String?
        package var policy = CachePolicy.http
        package var filter: ImageFilter?
        package var exporter: RowExporter?

        package init() {}
    }

    private let loader: ImageLoader
    private let configuration: Configuration
    private let time: any TimeSource
    /// The fields for other origins than that of the credentials.
    private let openFields: HTTPFields
    private let partition: String?
    private let lookUps = BlockingExecutor(name: "larder-look-up", width: 2)

    package init(_ loader: ImageLoader, configuration: Configuration = .init(), time: any TimeSource = SystemTime()) {
        self.loader = loader
        self.configuration = configuration
        self.time = time
        openFields = HTTPFields(configuration.fields.fields.filter { !Credentials.isCredential($0.name) })
        partition = Credentials.partition(configuration.fields)
    }

    private func isTrusted(_ url: NormalizedURL) -> Bool {
        configuration.credentialOrigin.map { $0 == url.origin } ?? true
    }

    package func identity(of row: Row) -> RowIdentity? {
        guard let url = try? NormalizedURL(row.url) else { return nil }
        var hash = key(url).hash
        if !row.sizes.isEmpty || row.sha256 != nil {
            // Other sizes or another hash are other work.
            hash = CacheKey(url: "\(hash)", variant: row.sizes.joined(separator: " "), partition: row.sha256).hash
        }
        return RowIdentity(high: hash.high, low: hash.low, host: "\(url.host):\(url.port)")
    }

    private func key(_ url: NormalizedURL) -> CacheKey {
        CacheKey(url: loader.configuration.keyNormalizer(url), partition: isTrusted(url) ? partition : nil)
    }

    // MARK: From the cache

    package func answer(_ rows: [Row]) async -> [RowResult?] {
        await lookUps.perform { [self] in rows.map { answer($0, isNew: false) } }
    }

    package var exportsRows: Bool { configuration.exporter != nil }

    package func answerStored(_ rows: [Row]) async -> [RowResult?] {
        await lookUps.perform { [self] in rows.map { answer($0, isNew: true) } }
    }

    /// - Parameter isNew: whether the image was stored just now, so that it may be used whatever the policy.
    private func answer(_ row: Row, isNew: Bool) -> RowResult? {
        let start = time.monotonic
        do throws(RowFailure) {
            let sizes = try sizes(of: row)
            let url = try RowFailure.catching { () throws(ImageError) in try NormalizedURL(row.url) }
            return try stored(row, key(url), sizes, isNew, start)
        } catch {
            return .failure(error.error, milliseconds: milliseconds(since: start))
        }
    }

    /// What the cache holds and may be used without asking, thumbnails included; nil where anything is missing.
    private func stored(
        _ row: Row, _ key: CacheKey, _ sizes: [ThumbnailSize], _ isNew: Bool, _ start: UInt64
    ) throws(RowFailure) -> RowResult? {
        switch configuration.policy {
        case .reload where !isNew, .revalidate where !isNew: return nil
        default: break
        }
        guard let entry = loader.disk?.entry(for: key) else {
            // Known here and now: such a row need not wait for its host's turn.
            guard case .offlineOnly = configuration.policy else { return nil }
            throw RowFailure(error: RowError(.notCached(.init("not stored, and the network is not used"))))
        }
        guard let disk = loader.disk, let header = entry.header, isNew || !entry.freshness.hasVary,
            row.sha256 == nil || row.sha256 == entry.sha256.hex
        else { return nil }
        let reuse = Reuse.decide(
            entry.freshness, storedAt: entry.responseTime, policy: configuration.policy, now: time.now)
        guard isNew || reuse == .fresh || reuse == .stale else { return nil }
        try RowFailure.catching { () throws(ImageError) in
            try loader.judge(header, bytes: entry.payloadLength)
            try configuration.filter?.check(header)
        }
        var facts = RowFacts(
            status: entry.status, format: header.format, width: header.width, height: header.height,
            orientation: Int(header.orientation.rawValue), bytes: entry.payloadLength, sha256: entry.sha256,
            file: entry.file)
        facts.isStale = reuse == .stale
        for size in sizes {
            let variant = key.variant(loader.variantIdentifier(size))
            guard let thumbnail = disk.entry(for: variant, source: entry), let made = thumbnail.header else {
                return nil
            }
            facts.placeholder = facts.placeholder ?? thumbnail.placeholder
            facts.thumbnails.append(
                .init(
                    size: size.description, width: made.width, height: made.height, bytes: thumbnail.payloadLength,
                    file: thumbnail.file))
            try export(row, key, made.format, size, sizes.count) { () throws(ImageError) in try thumbnail.payload() }
        }
        if sizes.isEmpty {
            try export(row, key, header.format, nil, 0) { () throws(ImageError) in try entry.payload() }
        }
        facts.milliseconds = milliseconds(since: start)
        return .success(.disk, facts)
    }

    // MARK: From the network

    package var executor: (any TaskExecutor)? { loader.files.tasks }

    package func run(_ row: Row) async -> RowResult {
        let start = time.monotonic
        do throws(RowFailure) {
            let sizes = try sizes(of: row)
            let url: NormalizedURL
            let image: StoredImage
            do throws(ImageError) {
                url = try NormalizedURL(row.url)
                // Rows come here when `answer` has found nothing.
                image = try await loader.store(request(row, url), thumbnails: sizes, isAfterMiss: true)
            } catch {
                throw RowFailure(error: RowError(error), attempts: error.details.attempts ?? 0)
            }
            return try await result(row, url, image, sizes, start)
        } catch {
            return .failure(error.error, attempts: error.attempts, milliseconds: milliseconds(since: start))
        }
    }

    private func request(_ row: Row, _ url: NormalizedURL) throws(ImageError) -> ImageRequest {
        ImageRequest(
            url: try url.url(), fields: isTrusted(url) ? configuration.fields : openFields,
            priority: row.priority > 0 ? .low : .veryLow,
            cachePolicy: configuration.policy, sha256: row.sha256, filter: configuration.filter)
    }

    private func result(
        _ row: Row, _ url: NormalizedURL, _ image: StoredImage, _ sizes: [ThumbnailSize], _ start: UInt64
    ) async throws(RowFailure) -> RowResult {
        guard configuration.exporter != nil else {
            return RowResult(image, milliseconds: milliseconds(since: start), mustBeKept: true)
        }
        let key = key(url)
        for thumbnail in image.thumbnails {
            guard case .success(let made) = thumbnail.outcome else { continue }
            try await exportLater(row, key, made.format, thumbnail.size, sizes.count, made.payload)
        }
        if sizes.isEmpty { try await exportLater(row, key, image.header.format, nil, 0, image.payload) }
        return RowResult(image, milliseconds: milliseconds(since: start))
    }

    // MARK: Parts

    private func sizes(of row: Row) throws(RowFailure) -> [ThumbnailSize] {
        guard !row.sizes.isEmpty else { return configuration.sizes }
        var sizes: [ThumbnailSize] = []
        for text in row.sizes {
            guard var size = ThumbnailSize(text) else {
                throw RowFailure(error: .badRow("'\(text)' is no size, such as 256, 256x256 or x128>"))
            }
            size.crop = configuration.crops
            sizes.append(size)
        }
        return sizes
    }

    private func export(
        _ row: Row, _ key: CacheKey, _ format: ImageFormat, _ size: ThumbnailSize?, _ count: Int,
        _ payload: @Sendable () throws(ImageError) -> [UInt8]
    ) throws(RowFailure) {
        guard let exporter = configuration.exporter else { return }
        let suffix = count > 1 ? "-" + (size?.fileSuffix ?? "") : ""
        try RowFailure.catching { () throws(ImageError) in
            try exporter.write(try payload(), of: row, key: key, suffix: suffix, format: format)
        }
    }

    private func exportLater(
        _ row: Row, _ key: CacheKey, _ format: ImageFormat, _ size: ThumbnailSize?, _ count: Int,
        _ payload: @escaping @Sendable () throws(ImageError) -> [UInt8]
    ) async throws(RowFailure) {
        let failure = await lookUps.perform { [self] () -> RowFailure? in
            do throws(RowFailure) { try export(row, key, format, size, count, payload) } catch { return error }
            return nil
        }
        if let failure { throw failure }
    }

    private func milliseconds(since start: UInt64) -> Int { Int((time.monotonic - start) / 1_000_000) }
}

/// Why a row cannot go on: an error of ours or of the image.
private struct RowFailure: Error {
    var error: RowError
    var attempts = 0

    static func catching<Result>(_ body: () throws(ImageError) -> Result) throws(RowFailure) -> Result {
        do throws(ImageError) { return try body() } catch { throw RowFailure(error: RowError(error)) }
    }
}

extension RowResult {
    /// The result of an image that was stored: a failure where a thumbnail could not be made.
    ///
    /// - Parameter mustBeKept: whether it is a failure that the cache could not take what may be stored.
    package init(_ image: StoredImage, milliseconds: Int = 0, mustBeKept: Bool = false) {
        var facts = RowFacts(
            status: image.status, format: image.header.format, width: image.header.width, height: image.header.height,
            orientation: Int(image.header.orientation.rawValue), bytes: image.bytes, sha256: image.sha256,
            file: image.file)
        facts.isStale = image.isStale
        facts.attempts = image.attempts
        facts.placeholder = image.placeholder
        facts.milliseconds = milliseconds
        var failure = mustBeKept && image.isUnkept ? RowError.notKept : nil
        for thumbnail in image.thumbnails {
            var line = RowFacts.Thumbnail(size: thumbnail.size.description)
            switch thumbnail.outcome {
            case .success(let made):
                (line.width, line.height, line.bytes, line.file) = (made.width, made.height, made.bytes, made.file)
                guard mustBeKept, image.file != nil, made.file == nil else { break }
                line.error = .notKept
                failure = failure ?? line.error
            case .failure(let error):
                line.error = RowError(error)
                failure = failure ?? line.error
            }
            facts.thumbnails.append(line)
        }
        self = failure.map { .failure($0, facts: facts) } ?? .success(image.source.rowSource, facts)
    }
}

extension LoadedImage.Source {
    fileprivate var rowSource: RowResult.Source {
        switch self {
        case .network: .network
        case .memory, .disk: .disk
        case .revalidated: .revalidated
        }
    }
}

extension ThumbnailSize {
    /// The size as a part of a file's name, in which its signs could not be told apart.
    fileprivate var fileSuffix: String {
        description.replacing(">", with: "-down").replacing("<", with: "-up").replacing("!", with: "-exact")
    }
}
