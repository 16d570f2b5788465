import Larder

/// Makes thumbnails for clients: one piece of work for all who want the same, on a bounded pool, kept as entries of
/// the disk tier.
package final class ThumbnailMaker: Sendable {
    private let tier: DiskTier
    private let limits: ImageLimits
    private let time: any TimeSource
    private let metrics: Metrics
    private let flights = Coalescer<Work, ServedImage>()
    private let decodes: SharedDecodes

    private struct Work: Hashable, Sendable {
        var key: CacheKey
        var sha256: [UInt8]
        var isKept: Bool
    }

    /// - Parameter queue: thumbnails that may wait.
    package init(
        tier: DiskTier, pool: WorkPool, queue: Int, limits: ImageLimits, time: any TimeSource, metrics: Metrics
    ) {
        self.tier = tier
        decodes = SharedDecodes(pool: pool, maxWaiting: queue)
        self.limits = limits
        self.time = time
        self.metrics = metrics
    }

    /// Thumbnails that wait for a thread.
    package var waiting: Int { decodes.waiting }

    /// What is asked for, in the terms of the image room.
    package struct Order: Sendable {
        package var key: CacheKey
        package var size: ThumbnailSize
        package var output: ThumbnailOutput
        /// How the source is decoded for it.
        package var reduction: Int
        package var pixels: Int

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
            output = ThumbnailOutput(format: format, quality: transformation.quality ?? Transformation.defaultQuality)
            reduction = Thumbnailer.reduction(for: size, header: header)
            pixels = Thumbnailer.pixels(of: size, header: header)
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
            let item = SharedDecodes.Item(order, keeps: keeps, began: time.monotonic)
            return try await decodes.make(item, of: source, reduction: order.reduction) { [self] items, batch in
                make(items, of: source, batch)
            }
        }
        return try await flights.wait(ticket)
    }

    /// Makes all from one decode and answers each.
    private func make(_ items: [SharedDecodes.Item], of source: StoredEntry, _ batch: SharedDecodes.Batch) {
        // Somebody else may have made one since, another server on the same directory too.
        let missing = items.filter { item in
            guard let entry = stored(item.order, of: source), let image = ServedImage(entry) else { return true }
            item.finish(.success(image))
            return false
        }
        guard !missing.isEmpty else { return }
        do throws(ImageError) {
            let made = try thumbnails(missing, of: source, batch.abort)
            for (item, image) in zip(missing, made) where !item.isOver {
                item.finish(item.keeps ? store(image, item.order, of: source) : .success(image))
                metrics.thumbnail(seconds: Double(time.monotonic &- item.began) / 1e9)
            }
        } catch {
            // One that asks for too much must not cost the others theirs.
            for item in missing where !item.isOver {
                if missing.count == 1 { item.finish(.failure(error)) } else { make([item], of: source, batch) }
            }
        }
    }

    private func thumbnails(
        _ items: [SharedDecodes.Item], of source: StoredEntry, _ abort: AbortFlag
    ) throws(ImageError) -> [ServedImage] {
        let made = try source.withPayload { (bytes) throws(ImageError) in
            metrics.decode()
            return try Thumbnailer.make(
                bytes, header: source.header,
                orders: items.map { Thumbnailer.Order(size: $0.order.size, output: $0.order.output) }, limits: limits,
                abort: abort)
        }
        guard made.count == items.count else { throw .corrupt(.init("no thumbnail was made")) }
        return made.map {
            ServedImage(
                format: $0.format, bytes: $0.bytes, modified: source.responseTime, freshness: source.freshness,
                isPrivate: source.isPrivate)
        }
    }

    private func store(
        _ image: ServedImage, _ order: Order, of source: StoredEntry
    ) -> Result<ServedImage, ImageError> {
        do throws(ImageError) { return .success(try stored(image, order, of: source)) } catch {
            return .failure(error)
        }
    }

    private func stored(
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
