import Foundation

extension ImageLoader {
    /// The name under which memory keeps what the request asks for: that of the original, or of the variant.
    ///
    /// Never fails: a URL that cannot be loaded has a key of its own, under which nothing is ever kept.
    public func memoryKey(for request: ImageRequest) -> CacheKey {
        variantKey(for: request, (try? originalKey(for: request)) ?? CacheKey(url: request.url.absoluteString))
    }

    func originalKey(for request: ImageRequest) throws(ImageError) -> CacheKey { try fetchRequest(request).key }

    func variantKey(for request: ImageRequest, _ original: CacheKey) -> CacheKey {
        var parts: [String] = []
        if let size = request.pixelSize { parts.append(variantIdentifier(size)) }
        parts += request.processors.map(\.identifier)
        return parts.isEmpty ? original : original.variant(parts.joined(separator: "|"))
    }

    func fetchRequest(_ request: ImageRequest) throws(ImageError) -> FetchRequest {
        let url = try NormalizedURL(request.url)
        var hash: [UInt8]?
        if let text = request.sha256 {
            guard let bytes = [UInt8](hex: text), bytes.count == 32 else {
                throw .hashMismatch(.init("\(text) is not a SHA-256: 64 hex digits are wanted"))
            }
            hash = bytes
        }
        return FetchRequest(
            url: url, policy: request.cachePolicy, fields: request.fields,
            content: .image(configuration.limits, request.filter),
            priority: request.priority, sha256: hash, maxBytes: configuration.maxBodyBytes,
            deadlines: request.deadlines ?? configuration.deadlines,
            cacheKey: request.customKey ?? configuration.keyNormalizer(url))
    }

    /// Fetches at a priority that may change meanwhile.
    func fetch(
        _ request: FetchRequest, _ priority: SharedPriority, _ progress: LoadProgress? = nil,
        _ previews: PreviewMaker? = nil
    ) async throws(ImageError) -> FetchResult {
        defer { previews?.stop() }
        let fetch = fetcher.begin(request) { moment in
            progress?.update { snapshot in
                snapshot.received = moment.received
                snapshot.expected = moment.expected
            }
            previews?.receive(moment)
        }
        let follower = priority.follow { [weak fetch] in fetch?.setPriority($0) }
        defer { withExtendedLifetime(follower) {} }
        return try await fetch.result()
    }

    /// From disk or network to a picture in memory.
    func load(
        _ request: ImageRequest, _ original: CacheKey, _ priority: SharedPriority, _ progress: LoadProgress
    ) async throws(ImageError) -> LoadedImage {
        if let size = request.pixelSize, request.cachePolicy.mayAnswerFromDisk,
            let image = try await storedPicture(request, size, original, priority, progress)
        {
            return image
        }
        let wanted = try fetchRequest(request)
        let found = try self.original(
            try await fetch(wanted, priority, progress, previews(of: request, priority, progress)), for: request)
        do throws(ImageError) {
            return try await picture(request, found, priority)
        } catch .corrupt(let details) {
            guard await isDamaged(found) else { throw .corrupt(details) }
            let fetched = try await fetch(wanted, priority, progress)
            return try await picture(request, try self.original(fetched, for: request), priority)
        }
    }

    private func previews(
        of request: ImageRequest, _ priority: SharedPriority, _ progress: LoadProgress
    ) -> PreviewMaker? {
        guard configuration.maxPreviews > 0 else { return nil }
        let size = request.pixelSize
        return PreviewMaker(queue: decoding, priority: priority) { [configuration] header in
            let fitting = size.map { size in
                let target = size.target(for: header)
                return header.orientation.swapsAxes ? (width: target.height, height: target.width) : target
            }
            return ProgressivePreview(
                header: header, limits: configuration.limits, fitting: fitting, most: configuration.maxPreviews)
        } show: { [weak progress] bitmap in
            progress?.update { $0.preview = bitmap }
        }
    }

    /// The picture from a thumbnail on disk that may be used without asking, or nil. Where the server must be asked
    /// first, the thumbnail's placeholder is shown meanwhile.
    func storedPicture(
        _ request: ImageRequest, _ size: ThumbnailSize, _ original: CacheKey, _ priority: SharedPriority,
        _ progress: LoadProgress? = nil
    ) async throws(ImageError) -> LoadedImage? {
        // The request's own directives and demands are judged by the original.
        guard request.filter == nil, !request.fields.contains("cache-control") else { return nil }
        let key = original.variant(variantIdentifier(size))
        let policy = request.cachePolicy
        let start = time.monotonic
        let found = try await files.run { [self] () throws(ImageError) -> (StoredEntry, Bool)? in
            guard let entry = disk?.entry(for: key), !entry.freshness.hasVary else { return nil }
            switch Reuse.decide(entry.freshness, storedAt: entry.responseTime, policy: policy, now: time.now) {
            case .fresh: return (entry, false)
            case .stale: return (entry, true)
            default:
                if let progress, let placeholder = entry.placeholder { progress.show(placeholder) }
                return nil
            }
        }
        guard let (entry, isStale) = found, let header = entry.header else { return nil }
        if let sha256 = request.sha256, entry.source?.sha256.hex != sha256.lowercased() { return nil }
        events.note(.diskHit(isStale: isStale), key, since: start)
        let bitmap: Bitmap
        do throws(ImageError) {
            bitmap = try await decode(
                { (body) throws(ImageError) in try entry.withPayload(body) }, header, request.processors, priority,
                bytes: entry.payloadLength, key)
        } catch .corrupt {
            // A damaged thumbnail has been set aside: it is made again.
            return nil
        }
        let image = LoadedImage(
            DecodedImage(
                bitmap: bitmap, key: variantKey(for: request, original.asked), header: entry.original ?? header,
                freshness: entry.freshness, sha256: entry.source?.sha256 ?? []),
            source: .disk, isStale: isStale)
        memory.insert(image)
        return image
    }

    /// The picture from an original.
    private func picture(
        _ request: ImageRequest, _ original: Original, _ priority: SharedPriority
    ) async throws(ImageError) -> LoadedImage {
        if let image = unchanged(request, original) { return image }
        let bitmap: Bitmap
        if let size = request.pixelSize {
            bitmap = try await sized(original, size, request.processors, priority)
        } else {
            bitmap = try await decode(
                { (body) throws(ImageError) in try original.withPayload(body) }, original.header, request.processors,
                priority, bytes: original.bytes, original.key)
        }
        return keep(bitmap, request, original)
    }

    /// The picture that memory has, where it was made of the same bytes: after a 304, or the same answer once more.
    func unchanged(_ request: ImageRequest, _ original: Original) -> LoadedImage? {
        let key = variantKey(for: request, original.key.asked)
        guard original.mayStay else { return nil }
        return memory.refreshed(key, original.freshness, sha256: original.sha256, fields: original.fields).map {
            LoadedImage($0, source: original.source, isStale: original.isStale)
        }
    }

    /// Keeps a picture that was made of an original, where it may be kept.
    func keep(_ bitmap: Bitmap, _ request: ImageRequest, _ original: Original) -> LoadedImage {
        let image = original.image(bitmap, variantKey(for: request, original.key.asked))
        keep(image, original)
        return image
    }

    func keep(_ image: LoadedImage, _ original: Original) {
        if original.mayStay { memory.insert(image) } else { memory.remove(image.key) }
    }

    private func sized(
        _ original: Original, _ size: ThumbnailSize, _ processors: [any ImageProcessing], _ priority: SharedPriority
    ) async throws(ImageError) -> Bitmap {
        if let bitmap = try await storedBitmap(original, size, processors, priority) { return bitmap }
        guard let made = try await makeThumbnails([size], of: original, priority: priority).first else {
            throw .corrupt(.init("no thumbnail was made"))
        }
        return try await process(made.image.bitmap, processors, priority)
    }

    /// The thumbnail of this very original that lies on disk; nil where there is none, or it is damaged.
    func storedBitmap(
        _ original: Original, _ size: ThumbnailSize, _ processors: [any ImageProcessing], _ priority: SharedPriority
    ) async throws(ImageError) -> Bitmap? {
        let variant = try await files.run { [self] () throws(ImageError) in storedVariant(size, of: original) }
        guard let variant, let header = variant.header else { return nil }
        do throws(ImageError) {
            return try await decode(
                { (body) throws(ImageError) in try variant.withPayload(body) }, header, processors, priority,
                bytes: variant.payloadLength, variant.key)
        } catch .corrupt {
            // It has been set aside: it is made again.
            return nil
        }
    }

    /// Decodes at full size and sets it upright.
    private func decode(
        _ withPayload:
            @escaping @Sendable ((UnsafeRawBufferPointer) throws(ImageError) -> Bitmap) throws(ImageError) ->
            Bitmap, _ header: ImageHeader,
        _ processors: [any ImageProcessing], _ priority: SharedPriority, bytes count: Int, _ key: CacheKey
    ) async throws(ImageError) -> Bitmap {
        let limits = configuration.limits
        let start = time.monotonic
        let bitmap = try await decoding.run(header: header, bytes: count, priority: priority) {
            (abort) throws(ImageError) in
            let stored = try withPayload { (bytes) throws(ImageError) in
                try ImageDecoder.decode(bytes, header: header, limits: limits, abort: abort)
            }
            return try Self.apply(processors, to: try stored.oriented(header.orientation))
        }
        events.note(.decoded(width: bitmap.width, height: bitmap.height), key, since: start)
        return bitmap
    }

    func process(
        _ bitmap: Bitmap, _ processors: [any ImageProcessing], _ priority: SharedPriority
    ) async throws(ImageError) -> Bitmap {
        guard !processors.isEmpty else { return bitmap }
        return try await decoding.run(header: nil, priority: priority) { (_) throws(ImageError) in
            try Self.apply(processors, to: bitmap)
        }
    }

    private static func apply(
        _ processors: [any ImageProcessing], to bitmap: Bitmap
    ) throws(ImageError) -> Bitmap {
        var bitmap = bitmap
        for processor in processors { bitmap = try processor.process(bitmap) }
        return bitmap
    }
}

extension CachePolicy {
    /// Whether what is stored may be the answer without asking the server.
    var mayAnswerFromDisk: Bool {
        switch self {
        case .http, .immutable, .offlineOnly: true
        case .reload, .revalidate: false
        }
    }
}

extension ImageRequest {
    /// Whether a picture that is there already is what the request demands.
    func accepts(_ image: LoadedImage) -> Bool {
        if let sha256, image.decoded.facts.sha256.hex != sha256.lowercased() { return false }
        do throws(ImageError) { try filter?.check(image.header) } catch { return false }
        return true
    }

    /// The thumbnail's size in pixels: its points times the scale.
    var pixelSize: ThumbnailSize? {
        guard let thumbnail, scale != 1, scale.isFinite, scale > 0 else { return thumbnail }
        func pixels(_ points: Int?) -> Int? {
            points.map { max(1, Int(min((Double($0) * scale).rounded(), Double(ThumbnailSize.greatest)))) }
        }
        return ThumbnailSize(
            width: pixels(thumbnail.width), height: pixels(thumbnail.height), rule: thumbnail.rule,
            crop: thumbnail.crop)
    }
}
