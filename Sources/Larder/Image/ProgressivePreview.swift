import CImageCodecs

/// Coarse pictures of a progressive JPEG or an interlaced PNG while its bytes arrive: a few at most, each from at
/// least twice the bytes of the one before, so that all of them cost less than the picture itself. Never stored.
///
///     var preview = ProgressivePreview(header: header, limits: limits)
///     while receiving {
///         if preview.isDue(bytes), let bitmap = preview.make(bytes) { show(bitmap) }
///     }
///
/// `isDue` is cheap. `make` decodes: run it on an executor for blocking work. Not thread-safe.
package struct ProgressivePreview {
    /// Below this many bytes nothing is worth showing. 2 KiB.
    package static let leastBytes = 2048

    private let header: ImageHeader
    private let limits: ImageLimits
    private let fitting: (width: Int, height: Int)?
    private var left: Int
    private var counter = ScanCounter()
    /// What the last one was made of.
    private var bytes = 0
    private var scans = 0
    private var passes = 0

    /// - Parameters:
    ///   - fitting: the least size needed, in stored pixels, as for ``ImageDecoder``.
    ///   - most: previews at most. 3 by default.
    package init(
        header: ImageHeader, limits: ImageLimits = ImageLimits(), fitting: (width: Int, height: Int)? = nil,
        most: Int = 3
    ) {
        self.header = header
        self.limits = limits
        self.fitting = fitting
        let isSupported = [.jpeg, .png].contains(header.format) && header.isProgressive && header.undecodable == nil
        left = isSupported ? max(0, most) : 0
    }

    /// Whether there may be more to see than in the preview before.
    ///
    /// - Parameter prefix: the file from its start, as far as it has come.
    package mutating func isDue(_ prefix: UnsafeRawBufferPointer) -> Bool {
        guard left > 0, prefix.count >= Self.leastBytes else { return false }
        guard header.format == .jpeg else { return prefix.count >= 2 * bytes }
        counter.advance(prefix)
        return counter.scans > scans && counter.end >= 2 * bytes
    }

    /// The picture as far as it has come, upright; nil where that is no further than before, or nothing to be shown.
    ///
    /// Damage is no failure here: the picture itself will tell of it.
    package mutating func make(_ prefix: UnsafeRawBufferPointer, abort: AbortFlag? = nil) -> Bitmap? {
        guard isDue(prefix) else { return nil }
        let isScanned = header.format == .jpeg
        // A scan that has not come to its end would show grey where it is missing.
        let part = isScanned ? UnsafeRawBufferPointer(rebasing: prefix[..<min(counter.end, prefix.count)]) : prefix
        bytes = part.count
        scans = counter.scans
        let bitmap: Bitmap
        let passes: Int
        do throws(ImageError) {
            (bitmap, passes) = try decode(part, abort)
        } catch {
            // More bytes help where some are missing, and nowhere else.
            if case .truncated = error { return nil }
            left = 0
            return nil
        }
        guard isScanned || passes > self.passes else { return nil }
        self.passes = passes
        // The whole is for the picture itself.
        guard isScanned || passes < 7 else { return nil }
        left -= 1
        return try? bitmap.oriented(header.orientation)
    }

    private func decode(_ part: UnsafeRawBufferPointer, _ abort: AbortFlag?) throws(ImageError) -> (Bitmap, Int) {
        let codec = try ImageDecoder.open(part, header, limits: limits, abort: abort)
        codec.allowPartial()
        try codec.start(
            larder_request(
                min_width: UInt32(clamping: fitting?.width ?? 0), min_height: UInt32(clamping: fitting?.height ?? 0),
                gray: false, whole: true, fast: true))
        let bitmap = try Bitmap(
            width: codec.width, height: codec.height, hasAlpha: header.hasAlpha, icc: codec.icc(for: "RGB ")
        ) { (pixels, stride) throws(ImageError) in
            guard let base = pixels.baseAddress else { return }
            // What does not come stays transparent.
            base.initializeMemory(as: UInt8.self, repeating: 0, count: pixels.count)
            try codec.read(base, stride: stride, rows: codec.height)
        }
        return (bitmap, codec.passes)
    }
}
