extension ImageLoader {
    /// The thumbnails of an original that lie on disk, and those that are missing made from one decode.
    ///
    /// - Throws: only ``ImageError/cancelled(_:)``; what else goes wrong stands in the outcomes.
    func thumbnails(
        _ sizes: [ThumbnailSize], of original: Original, priority: SharedPriority
    ) async throws(ImageError) -> ([StoredThumbnail], ImagePlaceholder?) {
        if sizes.isEmpty { return ([], nil) }
        let entries = try await files.run { [self] () throws(ImageError) in
            sizes.map { storedVariant($0, of: original) }
        }
        let found = entries.map { $0.flatMap(StoredVariant.init) }
        var placeholder = entries.lazy.compactMap { $0?.placeholder }.first
        let missing = zip(sizes, found).filter { $0.1 == nil }.map(\.0)
        var made: [ThumbnailSize: Result<StoredVariant, ImageError>] = [:]
        if !missing.isEmpty {
            do throws(ImageError) {
                for thumbnail in try await makeThumbnails(missing, of: original, priority: priority) {
                    made[thumbnail.size] = .success(thumbnail.variant)
                    keep(thumbnail.image, original)
                    placeholder = placeholder ?? thumbnail.placeholder
                }
            } catch .cancelled(let details) {
                throw .cancelled(details)
            } catch {
                for size in missing { made[size] = .failure(error) }
            }
        }
        let thumbnails = zip(sizes, found).map { size, variant in
            let outcome = variant.map { .success($0) } ?? made[size] ?? .failure(.corrupt(.init("not made")))
            return StoredThumbnail(size: size, outcome: outcome)
        }
        return (thumbnails, placeholder)
    }

    /// How the variant of that size is called in keys.
    package func variantIdentifier(_ size: ThumbnailSize) -> String {
        let output = configuration.thumbnailOutput
        let crop = size.crop ? ";crop" : ""
        return "\(size)\(crop);\(output.format?.rawValue ?? "auto");\(output.quality)"
    }

    /// The variant on disk, if it was made of this very original. Blocks.
    func storedVariant(_ size: ThumbnailSize, of original: Original) -> StoredEntry? {
        guard let source = original.entry else { return nil }
        return disk?.entry(for: original.key.variant(variantIdentifier(size)), source: source)
    }

    struct MadeThumbnail: Sendable {
        let size: ThumbnailSize
        let variant: StoredVariant
        let image: LoadedImage
        let placeholder: ImagePlaceholder
    }

    /// Decodes the original once and makes each size; stores them where the original is stored.
    func makeThumbnails(
        _ sizes: [ThumbnailSize], of original: Original, priority: SharedPriority
    ) async throws(ImageError) -> [MadeThumbnail] {
        let start = time.monotonic
        return try await decoding.run(header: original.header, bytes: original.bytes, priority: priority) {
            [self] (abort) throws(ImageError) in
            let thumbnails = try original.withPayload { (bytes) throws(ImageError) in
                try Thumbnailer.make(
                    bytes, header: original.header, sizes: sizes, output: configuration.thumbnailOutput,
                    limits: configuration.limits, abort: abort)
            }
            guard let smallest = thumbnails.min(by: { $0.width * $0.height < $1.width * $1.height }) else { return [] }
            let placeholder = ImagePlaceholder(smallest.bitmap)
            var made: [MadeThumbnail] = []
            for thumbnail in thumbnails {
                let key = original.key.variant(variantIdentifier(thumbnail.size))
                let entry = try store(thumbnail, key, of: original, placeholder)
                let image = original.image(thumbnail.bitmap, key.asked)
                let variant = entry.flatMap(StoredVariant.init) ?? StoredVariant(thumbnail)
                made.append(
                    MadeThumbnail(size: thumbnail.size, variant: variant, image: image, placeholder: placeholder))
            }
            events.note(.decoded(width: smallest.width, height: smallest.height), original.key, since: start)
            return made
        }
    }

    /// Keeps a thumbnail as a variant of its original. Blocks.
    private func store(
        _ thumbnail: Thumbnail, _ key: CacheKey, of original: Original, _ placeholder: ImagePlaceholder
    ) throws(ImageError) -> StoredEntry? {
        guard let disk, let source = original.entry, source.isStored else { return nil }
        let writer = try disk.begin(key)
        try Self.withBytes(thumbnail.bytes) { (bytes) throws(ImageError) in try writer.append(bytes) }
        return try writer.commit(
            EntryMetadata(
                key: key, finalURL: key.url, status: 0, requestTime: source.requestTime,
                responseTime: source.responseTime, freshness: source.freshness, isPrivate: source.isPrivate,
                header: ImageHeader(
                    format: thumbnail.format, width: thumbnail.width, height: thumbnail.height, bitDepth: 8,
                    hasAlpha: thumbnail.bitmap.hasAlpha, iccBytes: thumbnail.bitmap.icc.count),
                source: .init(key: original.key.hash, sha256: source.sha256), extra: EntryMetadata.extra(placeholder)))
    }

    /// `withUnsafeBytes` that keeps the error's type.
    static func withBytes<Success>(
        _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(ImageError) -> Success
    ) throws(ImageError) -> Success {
        let result: Result<Success, ImageError> = bytes.withUnsafeBytes { buffer in
            do throws(ImageError) { return .success(try body(buffer)) } catch { return .failure(error) }
        }
        return try result.get()
    }
}
