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
            content: .image(HeaderInspector(limits: configuration.limits, filter: request.filter)),
            priority: request.priority, sha256: hash, maxBytes: configuration.maxBodyBytes,
            deadlines: configuration.deadlines, cacheKey: request.customKey ?? configuration.keyNormalizer(url))
    }

    /// Fetches at a priority that may change meanwhile.
    func fetch(
        _ request: FetchRequest, _ priority: SharedPriority, _ progress: LoadProgress? = nil
    ) async throws(ImageError) -> FetchResult {
        let fetch = fetcher.begin(request) { moment in
            progress?.update { snapshot in
                snapshot.received = moment.received
                snapshot.expected = moment.expected
            }
        }
        let follower = priority.follow { [weak fetch] in fetch?.setPriority($0) }
        defer { withExtendedLifetime(follower) {} }
        fetch.setPriority(priority.value)
        return try await fetch.result()
    }

    /// From disk or network to a picture in memory.
    func load(
        _ request: ImageRequest, _ original: CacheKey, _ priority: SharedPriority, _ progress: LoadProgress
    ) async throws(ImageError) -> LoadedImage {
        if let size = request.pixelSize, request.cachePolicy.mayAnswerFromDisk,
            let image = try await storedPicture(request, size, original, priority)
        {
            return image
        }
        let wanted = try fetchRequest(request)
        let found = try Original(try await fetch(wanted, priority, progress))
        do throws(ImageError) {
            return try await picture(request, found, priority)
        } catch .corrupt(let details) where found.source == .disk {
            // Where the entry was damaged it has been set aside: what is at the origin is asked for once more.
            let isGone = try await files.run { [disk] () throws(ImageError) in disk?.entry(for: original) == nil }
            guard isGone else { throw .corrupt(details) }
            return try await picture(request, try Original(try await fetch(wanted, priority, progress)), priority)
        }
    }

    /// The picture from a thumbnail on disk that may be used without asking, or nil.
    private func storedPicture(
        _ request: ImageRequest, _ size: ThumbnailSize, _ original: CacheKey, _ priority: SharedPriority
    ) async throws(ImageError) -> LoadedImage? {
        let key = original.variant(variantIdentifier(size))
        let policy = request.cachePolicy
        let found = try await files.run { [self] () throws(ImageError) -> (StoredEntry, Bool)? in
            guard let entry = disk?.entry(for: key), !entry.freshness.hasVary else { return nil }
            switch Reuse.decide(entry.freshness, storedAt: entry.responseTime, policy: policy, now: time.now) {
            case .fresh: return (entry, false)
            case .stale: return (entry, true)
            default: return nil
            }
        }
        guard let (entry, isStale) = found, let header = entry.header else { return nil }
        let bitmap: Bitmap
        do throws(ImageError) {
            bitmap = try await decode(
                { () throws(ImageError) in try entry.payload() }, header, request.processors, priority)
        } catch .corrupt {
            // A damaged thumbnail has been set aside: it is made again.
            return nil
        }
        return keep(bitmap, header, request, original, entry.freshness, .disk, isStale)
    }

    /// The picture from an original.
    private func picture(
        _ request: ImageRequest, _ original: Original, _ priority: SharedPriority
    ) async throws(ImageError) -> LoadedImage {
        let bitmap: Bitmap
        if let size = request.pixelSize {
            bitmap = try await sized(original, size, request.processors, priority)
        } else {
            bitmap = try await decode(original.payload, original.header, request.processors, priority)
        }
        return keep(
            bitmap, original.header, request, original.key, original.freshness, original.source, original.isStale)
    }

    private func sized(
        _ original: Original, _ size: ThumbnailSize, _ processors: [any ImageProcessing], _ priority: SharedPriority
    ) async throws(ImageError) -> Bitmap {
        let variant = try await files.run { [self] () throws(ImageError) in storedVariant(size, of: original) }
        if let variant, let header = variant.header {
            do throws(ImageError) {
                return try await decode(
                    { () throws(ImageError) in try variant.payload() }, header, processors, priority)
            } catch .corrupt {
                // Set aside: made again below.
            }
        }
        guard let made = try await makeThumbnails([size], of: original, priority: priority).first else {
            throw .corrupt(.init("no thumbnail was made"))
        }
        return try await process(made.image.bitmap, processors, priority)
    }

    /// Decodes at full size and sets it upright.
    private func decode(
        _ payload: @escaping @Sendable () throws(ImageError) -> [UInt8], _ header: ImageHeader,
        _ processors: [any ImageProcessing], _ priority: SharedPriority
    ) async throws(ImageError) -> Bitmap {
        let limits = configuration.limits
        return try await decoding.run(header: header, priority: priority) { (abort) throws(ImageError) in
            let bytes = try payload()
            let stored = try Self.withBytes(bytes) { (bytes) throws(ImageError) in
                try ImageDecoder.decode(bytes, header: header, limits: limits, abort: abort)
            }
            return try Self.apply(processors, to: try stored.oriented(header.orientation))
        }
    }

    private func process(
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

    private func keep(
        _ bitmap: Bitmap, _ header: ImageHeader, _ request: ImageRequest, _ original: CacheKey,
        _ freshness: StoredFreshness, _ source: LoadedImage.Source, _ isStale: Bool
    ) -> LoadedImage {
        let image = LoadedImage(
            DecodedImage(
                bitmap: bitmap, key: variantKey(for: request, original.asked), header: header, freshness: freshness),
            source: source, isStale: isStale)
        memory.insert(image)
        return image
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
