extension Bitmap {
    /// The picture at another size, by the filter that makes thumbnails; itself where the size is its own. Blocking.
    ///
    /// - Throws: ``ImageError/tooLarge(_:)`` where the result would have more pixels than ``ImageLimits`` allows by
    ///   default, or this picture is so long that the filter alone would take more memory.
    public func resized(to size: ThumbnailSize) throws(ImageError) -> Bitmap {
        let plan = size.plan(width: width, height: height)
        let own = ThumbnailSize.Extent(width: width, height: height)
        if plan.scaled == own, plan.window == own { return self }
        try ImageLimits().check(width: plan.window.width, height: plan.window.height)
        var budget = ImageLimits().maxDecodeBytes
        let resampler = try Resampler(
            width: width, height: height, extent: (Double(width), Double(height)), channels: 4, hasAlpha: hasAlpha,
            plan: plan, budget: &budget)
        withPixels { pixels in
            guard let base = pixels.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return }
            resampler.push(base, stride: stride, rows: height)
        }
        return try resampler.output.bitmap(hasAlpha: hasAlpha, icc: icc)
    }

    /// A part of the picture. What of it lies outside is left out; at least one pixel remains.
    ///
    /// - Parameters:
    ///   - x: the left edge, in pixels.
    ///   - y: the upper edge, in pixels.
    ///   - width: of the part, in pixels.
    ///   - height: of the part, in pixels.
    public func cropped(x: Int, y: Int, width: Int, height: Int) throws(ImageError) -> Bitmap {
        let left = min(max(0, x), self.width - 1)
        let top = min(max(0, y), self.height - 1)
        let wide = max(1, Self.end(x, width, within: self.width) - left)
        let high = max(1, Self.end(y, height, within: self.height) - top)
        if wide == self.width, high == self.height { return self }
        return try Bitmap(width: wide, height: high, hasAlpha: hasAlpha, icc: icc) {
            (target, targetStride) throws(ImageError) in
            withPixels { source in
                for row in 0..<high {
                    let from = (top + row) * stride + 4 * left
                    UnsafeMutableRawBufferPointer(rebasing: target[row * targetStride..<row * targetStride + 4 * wide])
                        .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[from..<from + 4 * wide]))
                }
            }
        }
    }

    private static func end(_ start: Int, _ length: Int, within limit: Int) -> Int {
        let (end, overflow) = start.addingReportingOverflow(max(0, length))
        return overflow ? limit : min(limit, end)
    }
}
