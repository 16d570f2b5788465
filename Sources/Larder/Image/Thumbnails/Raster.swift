import CImageCodecs

/// Pixels on their way from a decoder to an encoder: 1 channel (gray) or 4 (RGBA), rows without gaps.
final class Raster {
    let width: Int
    let height: Int
    let channels: Int
    let pixels: UnsafeMutablePointer<UInt8>
    var stride: Int { width * channels }

    /// Sizes are those of thumbnails or of what a decoder has agreed to: their product does not overflow.
    init(width: Int, height: Int, channels: Int) {
        self.width = width
        self.height = height
        self.channels = channels
        let memory = UnsafeMutableRawPointer.allocate(byteCount: width * height * channels, alignment: 64)
        pixels = memory.bindMemory(to: UInt8.self, capacity: width * height * channels)
    }

    deinit { UnsafeMutableRawPointer(pixels).deallocate() }

    func oriented(_ orientation: Orientation) -> Raster {
        guard orientation != .up else { return self }
        let (wide, high) = orientation.swapsAxes ? (height, width) : (width, height)
        let turned = Raster(width: wide, height: high, channels: channels)
        if channels == 1 {
            turn(orientation, into: turned, as: UInt8.self)
        } else {
            turn(orientation, into: turned, as: UInt32.self)
        }
        return turned
    }

    private func turn<Pixel: BitwiseCopyable>(_ orientation: Orientation, into target: Raster, as type: Pixel.Type) {
        orientation.turn(
            pixels, width: width, height: height, stride: stride, into: target.pixels, targetStride: target.stride,
            as: type)
    }

    /// Whether any pixel lets something through.
    var isTranslucent: Bool {
        guard channels == 4 else { return false }
        return (0..<width * height).contains { pixels[4 * $0 + 3] != 255 }
    }

    func bitmap(hasAlpha: Bool, icc: [UInt8]) throws(ImageError) -> Bitmap {
        try Bitmap(width: width, height: height, hasAlpha: hasAlpha, icc: icc) { (target, _) throws(ImageError) in
            guard let base = target.baseAddress else { return }
            if channels == 4 {
                base.copyMemory(from: pixels, byteCount: width * height * 4)
            } else {
                let words = base.assumingMemoryBound(to: UInt32.self)
                // Four equal bytes, the last made opaque: the same in either byte order but for the mask.
                let opaque = UInt32(littleEndian: 0xFF00_0000)
                for index in 0..<width * height { words[index] = UInt32(pixels[index]) &* 0x0101_0101 | opaque }
            }
        }
    }
}
