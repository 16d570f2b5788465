import Foundation

extension ThumbHash {
    /// The hash of a picture. It is scaled down to 100 pixels at most first, so give it a thumbnail where there is
    /// one; every pixel is read once.
    public init(_ bitmap: Bitmap) {
        let small = Small(bitmap)
        let frequencies = small.hasAlpha ? 5 : 7
        let longer = Double(max(small.width, small.height))
        func share(_ side: Int) -> Int { max(1, Int((Double(frequencies * side) / longer + 0.5).rounded(.down))) }
        let (across, down) = (share(small.width), share(small.height))
        let isLandscape = small.width > small.height

        let luminance = Transform(small, small.luminance, max(3, across), max(3, down))
        let first = Transform(small, small.first, 3, 3)
        let second = Transform(small, small.second, 3, 3)
        let alpha = small.hasAlpha ? Transform(small, small.alpha, 5, 5) : nil

        var colors = halfUp(63 * luminance.constant)
        colors |= halfUp(31.5 + 31.5 * first.constant) << 6
        colors |= halfUp(31.5 + 31.5 * second.constant) << 12
        colors |= halfUp(31 * luminance.scale) << 18
        if small.hasAlpha { colors |= 1 << 23 }
        var shape = isLandscape ? down | 1 << 15 : across
        shape |= halfUp(63 * first.scale) << 3
        shape |= halfUp(63 * second.scale) << 9
        var bytes = [colors, colors >> 8, colors >> 16, shape, shape >> 8].map { UInt8($0 & 255) }
        if let alpha { bytes.append(UInt8(halfUp(15 * alpha.constant) | halfUp(15 * alpha.scale) << 4)) }
        let nibbles = [luminance, first, second, alpha].compactMap(\.self).flatMap(\.nibbles)
        for index in stride(from: 0, to: nibbles.count, by: 2) {
            bytes.append(nibbles[index] | (index + 1 < nibbles.count ? nibbles[index + 1] << 4 : 0))
        }
        self.init(encoded: bytes)
    }

    /// At most 100 × 100 pixels, laid over their own average where they are transparent, as luminance, two colour
    /// differences and alpha, each 0 to 1 (the differences -1 to 1).
    private struct Small {
        let width, height: Int
        let hasAlpha: Bool
        var luminance: [Double] = []
        var first: [Double] = []
        var second: [Double] = []
        var alpha: [Double] = []

        init(_ bitmap: Bitmap) {
            let longer = max(bitmap.width, bitmap.height)
            width = longer <= 100 ? bitmap.width : max(1, (bitmap.width * 100 + longer / 2) / longer)
            height = longer <= 100 ? bitmap.height : max(1, (bitmap.height * 100 + longer / 2) / longer)
            let pixels = Self.averages(bitmap, width, height)
            let sum = pixels.reduce(into: SIMD4<Double>()) { $0 += $1 }
            // What is premultiplied sums up to the average that the visible has.
            let average = sum.w > 0 ? sum / sum.w : SIMD4()
            hasAlpha = sum.w < Double(pixels.count)
            for pixel in pixels {
                let color = pixel + average * (1 - pixel.w)
                luminance.append((color.x + color.y + color.z) / 3)
                first.append((color.x + color.y) / 2 - color.z)
                second.append(color.x - color.y)
                alpha.append(pixel.w)
            }
        }

        /// The mean of each target pixel's part of the picture: red, green, blue premultiplied, and alpha, 0 to 1.
        private static func averages(_ bitmap: Bitmap, _ width: Int, _ height: Int) -> [SIMD4<Double>] {
            bitmap.withPixels { pixels in
                (0..<width * height).map { index in
                    let (x, y) = (index % width, index / width)
                    let columns = (x * bitmap.width / width)..<((x + 1) * bitmap.width / width)
                    let rows = (y * bitmap.height / height)..<((y + 1) * bitmap.height / height)
                    guard columns.count * rows.count > 1 else {
                        // To the bit what the format's own implementation has.
                        let at = y * bitmap.stride + 4 * x
                        let color = SIMD4(Double(pixels[at]), Double(pixels[at + 1]), Double(pixels[at + 2]), 255)
                        return color * (Double(pixels[at + 3]) / 255 / 255)
                    }
                    var sum = SIMD4<Double>()
                    for row in rows {
                        var part = SIMD4<UInt32>()
                        for column in columns {
                            var color = pixels.loadUnaligned(
                                fromByteOffset: row * bitmap.stride + 4 * column, as: SIMD4<UInt8>.self)
                            let alpha = UInt32(color.w)
                            color.w = 255
                            // A row of more than 66,000 pixels for each of ours would be needed to overflow.
                            part &+= SIMD4<UInt32>(truncatingIfNeeded: color) &* alpha
                        }
                        sum += SIMD4<Double>(part)
                    }
                    return sum / Double(255 * 255 * columns.count * rows.count)
                }
            }
        }
    }

    /// A cosine transform, the lowest frequencies of it.
    private struct Transform {
        let constant: Double
        let scale: Double
        /// The factors in 4 bits, relative to the greatest.
        let nibbles: [UInt8]

        init(_ small: Small, _ channel: [Double], _ across: Int, _ down: Int) {
            let (width, height) = (small.width, small.height)
            let columns = waves(across, width)
            let rows = waves(down, height)
            // In the order of the format's own implementation, whose rounding errors decide where a factor is about 0.
            func factor(_ across: Int, _ down: Int) -> Double {
                var sum = 0.0
                channel.withUnsafeBufferPointer { channel in
                    columns[across].withUnsafeBufferPointer { wave in
                        for y in 0..<height {
                            let rise = rows[down][y]
                            for x in 0..<width { sum += channel[y &* width &+ x] * wave[x] * rise }
                        }
                    }
                }
                return sum / Double(width * height)
            }
            let factors = Frequencies(across, down).pairs.map { factor($0.across, $0.down) }
            let greatest = factors.reduce(0) { max($0, abs($1)) }
            constant = factor(0, 0)
            // A plain area has no frequencies, only rounding errors: the same hash on every machine.
            scale = greatest < 1e-9 ? 0 : greatest
            nibbles = factors.map { [scale] in UInt8(halfUp(scale > 0 ? 15 * (0.5 + 0.5 / scale * $0) : 0)) }
        }
    }
}

/// The cosines of each frequency below `count`, at the middle of each pixel along a side.
private func waves(_ count: Int, _ length: Int) -> [[Double]] {
    (0..<count).map { frequency in
        (0..<length).map { cos(.pi / Double(length) * Double(frequency) * (Double($0) + 0.5)) }
    }
}

/// Half up, as the format's own implementation rounds.
private func halfUp(_ value: Double) -> Int { Int((value + 0.5).rounded(.down)) }
