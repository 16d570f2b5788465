import Larder

/// Makes thumbnails for clients: one piece of work for all who want the same, on a bounded pool, kept as entries of
/// the disk tier.
package final class ThumbnailMaker: Sendable {
    private let tier: DiskTier
    private let pool: WorkPool
    private let limits: ImageLimits
    private let time: any TimeSource
    private let metrics: Metrics
    private let flights = Coalescer<Work, ServedImage>()

    private struct Work: Hashable, Sendable {
        var key: CacheKey
        var sha256: [UInt8]
        var isKept: Bool
    }

    package init(tier: DiskTier, pool: WorkPool, limits: ImageLimits, time: any TimeSource, metrics: Metrics) {
        self.tier = tier
        self.pool = pool
        self.limits = limits
        self.time = time
        self.metrics = metrics
    }

    /// What is asked for, in the terms of the image room.
    package struct Order: Sendable {
        package var key: CacheKey
        package var size: ThumbnailSize
        package var output: ThumbnailOutput

        package init(_ source: StoredEntry, _ transformation: Transformation, format: ImageFormat?) throws(Problem) {
            guard let header = source.header else { throw .notFound("The entry holds no image.") }
            let isFree = transformation.width == nil && transformation.height == nil
            let size = ThumbnailSize(
                width: isFree ? header.displayWidth : transformation.width, height: transformation.height,
                rule: transformation.fit == .max ? .onlyShrink : .both, crop: transformation.fit == .crop)
            guard let size else {
                throw Problem(422, "unsupported_format", "This \(header.format.rawValue) has no size of its own.")
            }
            self.size = size
            output = ThumbnailOutput(format: format, quality: transformation.quality)
            key = source.key.thumbnail(size, output)
        }
    }

    /// A thumbnail that is stored and whose source is still the same; nil where it has to be made. Blocks for as long
    /// as opening a file takes.
    package func stored(_ order: Order, of source: StoredEntry) -> StoredEntry? {
        tier.entry(for: order.key, source: source)
    }

    /// Makes the thumbnail, or waits for those who are making it.
    package func make(
        _ order: Order, of source: StoredEntry, keeps: Bool
    ) async throws(ImageError) -> ServedImage {
        let work = Work(key: order.key, sha256: source.sha256, isKept: keeps)
        let ticket = flights.join(work, priority: .normal) { [self] _ throws(ImageError) in
            let abort = AbortFlag()
            let began = time.monotonic
            return try await Self.aborting(abort) { () throws(ImageError) in
                try await pool.run { [self] () throws(ImageError) in
                    // Somebody else may have made it since, another server on the same directory too.
                    if let entry = stored(order, of: source), let image = ServedImage(entry) { return image }
                    let image = try Self.make(order, of: source, limits: limits, abort: abort)
                    defer { metrics.thumbnail(seconds: Double(time.monotonic &- began) / 1e9) }
                    return keeps ? try store(image, order, of: source) : image
                }
            }
        }
        return try await flights.wait(ticket)
    }

    private static func aborting<Success: Sendable>(
        _ flag: AbortFlag, _ body: () async throws(ImageError) -> Success
    ) async throws(ImageError) -> Success {
        let result: Result<Success, ImageError> = await withTaskCancellationHandler {
            do throws(ImageError) { return .success(try await body()) } catch { return .failure(error) }
        } onCancel: {
            flag.abort()
        }
        return try result.get()
    }

    private static func make(
        _ order: Order, of source: StoredEntry, limits: ImageLimits, abort: AbortFlag
    ) throws(ImageError) -> ServedImage {
        let bytes = try source.payload()
        let made = try bytes.withBuffer { (bytes) throws(ImageError) in
            try Thumbnailer.make(
                bytes, header: source.header, sizes: [order.size], output: order.output, limits: limits, abort: abort)
        }
        guard let thumbnail = made.first else { throw .corrupt(.init("no thumbnail was made")) }
        return ServedImage(
            format: thumbnail.format, bytes: thumbnail.bytes, modified: source.responseTime,
            freshness: source.freshness, isPrivate: source.isPrivate)
    }

    private func store(
        _ image: ServedImage, _ order: Order, of source: StoredEntry
    ) throws(ImageError) -> ServedImage {
        guard case .bytes(let bytes) = image.body else { return image }
        let header = try bytes.withBuffer { (buffer) throws(ImageError) in
            try ImageDecoder.header(of: buffer, limits: limits)
        }
        let writer = try tier.begin(order.key)
        do throws(ImageError) {
            try bytes.withBuffer { (buffer) throws(ImageError) in try writer.append(buffer) }
            let entry = try writer.commit(
                EntryMetadata(
                    key: order.key, finalURL: order.key.url, status: 0, requestTime: source.requestTime,
                    responseTime: source.responseTime, freshness: source.freshness, isPrivate: source.isPrivate,
                    header: header,
                    source: EntryMetadata.VariantSource(key: source.key.hash, sha256: source.sha256)))
            return ServedImage(entry) ?? image
        } catch {
            writer.abandon()
            throw error
        }
    }
}

extension [UInt8] {
    /// `withUnsafeBytes` for calls that throw a typed error, which the standard library's own gives up.
    fileprivate func withBuffer<Result>(
        _ body: (UnsafeRawBufferPointer) throws(ImageError) -> Result
    ) throws(ImageError) -> Result {
        let result: Swift.Result<Result, ImageError> = withUnsafeBytes { buffer in
            do throws(ImageError) { return .success(try body(buffer)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
