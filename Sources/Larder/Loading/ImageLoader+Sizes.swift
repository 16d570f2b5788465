extension ImageLoader {
    /// The picture at several sizes, from one fetch and, for all sizes that neither memory nor disk has, one decode.
    ///
    /// - Parameters:
    ///   - request: its own ``ImageRequest/thumbnail`` is not looked at; scale and processors apply to each size.
    ///   - sizes: none gives an empty result.
    /// - Returns: a picture for each size, in the same order.
    /// - Throws: why they could not be had: all of them or none. ``ImageError/cancelled(_:)`` when the task is cancelled.
    public func images(
        for request: ImageRequest, sizes: [ThumbnailSize]
    ) async throws(ImageError) -> [LoadedImage] {
        let requests = sizes.map { size in
            var request = request
            request.thumbnail = size
            return request
        }
        var images = requests.map(cachedImage(for:))
        guard images.contains(where: { $0 == nil }) else { return images.compactMap(\.self) }
        do throws(ImageError) {
            let priority = SharedPriority(request.priority)
            let key = try originalKey(for: request)
            for index in requests.indices where images[index] == nil {
                guard request.cachePolicy.mayAnswerFromDisk, let size = requests[index].pixelSize else { continue }
                images[index] = try await storedPicture(requests[index], size, key, priority)
            }
            guard images.contains(where: { $0 == nil }) else { return images.compactMap(\.self) }
            let wanted = try fetchRequest(request)
            let found = try original(try await fetch(wanted, priority), for: request)
            do throws(ImageError) {
                try await make(requests, of: found, priority, into: &images)
            } catch .corrupt(let details) {
                guard await isDamaged(found) else { throw .corrupt(details) }
                let again = try original(try await fetch(wanted, priority), for: request)
                try await make(requests, of: again, priority, into: &images)
            }
            return images.compactMap(\.self)
        } catch {
            throw error.at(request.url)
        }
    }

    private func make(
        _ requests: [ImageRequest], of original: Original, _ priority: SharedPriority, into images: inout [LoadedImage?]
    ) async throws(ImageError) {
        var missing: [ThumbnailSize] = []
        for (index, request) in requests.enumerated() where images[index] == nil {
            guard let size = request.pixelSize else { continue }
            if let image = unchanged(request, original) {
                images[index] = image
            } else if let bitmap = try await storedBitmap(original, size, request.processors, priority) {
                images[index] = keep(bitmap, request, original)
            } else if !missing.contains(size) {
                missing.append(size)
            }
        }
        if missing.isEmpty { return }
        let made = try await makeThumbnails(missing, of: original, priority: priority)
        for (index, request) in requests.enumerated() where images[index] == nil {
            guard let thumbnail = made.first(where: { $0.size == request.pixelSize }) else {
                throw .corrupt(.init("no thumbnail was made"))
            }
            images[index] = keep(
                try await process(thumbnail.image.bitmap, request.processors, priority), request, original)
        }
    }
}
