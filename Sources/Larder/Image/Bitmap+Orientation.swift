extension Bitmap {
    /// The bitmap set upright: pixels turned and mirrored as `orientation` says. Itself for `.up`.
    ///
    /// - Throws: ``ImageError/tooLarge(_:)`` where memory is short.
    public func oriented(_ orientation: Orientation) throws(ImageError) -> Bitmap {
        guard orientation != .up else { return self }
        let (wide, high) = orientation.swapsAxes ? (height, width) : (width, height)
        return try Bitmap(width: wide, height: high, hasAlpha: hasAlpha, icc: icc) {
            (target, targetStride) throws(ImageError) in
            withPixels { source in
                orientation.turn(
                    source.baseAddress!, width: width, height: height, stride: stride, into: target.baseAddress!,
                    targetStride: targetStride, as: UInt32.self)
            }
        }
    }
}

extension Orientation {
    /// Copies a picture of `width` by `height` pixels of type `Pixel`, set upright.
    func turn<Pixel: BitwiseCopyable>(
        _ source: UnsafeRawPointer, width: Int, height: Int, stride: Int, into target: UnsafeMutableRawPointer,
        targetStride: Int, as: Pixel.Type
    ) {
        let size = MemoryLayout<Pixel>.stride
        // Where the first pixel goes, and how far each step in the source moves in the target, in bytes.
        let (right, bottom) = ((width - 1), (height - 1))
        let (origin, alongX, alongY): (Int, Int, Int) =
            switch self {
            case .up: (0, size, targetStride)
            case .upMirrored: (right * size, -size, targetStride)
            case .down: (right * size + bottom * targetStride, -size, -targetStride)
            case .downMirrored: (bottom * targetStride, size, -targetStride)
            case .leftMirrored: (0, targetStride, size)
            case .right: (bottom * size, targetStride, -size)
            case .rightMirrored: (bottom * size + right * targetStride, -targetStride, -size)
            case .left: (right * targetStride, -targetStride, size)
            }
        // In blocks, so that both sides stay in the processor's cache when axes change places.
        let block = 32
        for top in Swift.stride(from: 0, to: height, by: block) {
            for left in Swift.stride(from: 0, to: width, by: block) {
                for y in top..<min(top + block, height) {
                    let row = source + y * stride
                    let line = target + (origin + y * alongY)
                    for x in left..<min(left + block, width) {
                        (line + x * alongX).assumingMemoryBound(to: Pixel.self).pointee =
                            (row + x * size).assumingMemoryBound(to: Pixel.self).pointee
                    }
                }
            }
        }
    }
}
