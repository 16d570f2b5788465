import CImageCodecs
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
            luminance.reserveCapacity(pixels.count)
            first.reserveCapacity(pixels.count)
            second.reserveCapacity(pixels.count)
            alpha.reserveCapacity(pixels.count)
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
                guard bitmap.width > width || bitmap.height > height else {
                    // To the bit what the format's own implementation has.
                    return (0..<width * height).map { index in
                        let at = index / width * bitmap.stride + 4 * (index % width)
                        let color = SIMD4(Double(pixels[at]), Double(pixels[at + 1]), Double(pixels[at + 2]), 255)
                        return color * (Double(pixels[at + 3]) / 255 / 255)
                    }
                }
                let columns = (0...width).map { UInt32($0 * bitmap.width / width) }
                // A row of 66,000 pixels for each of ours would be needed to overflow.
                var sums = [SIMD4<UInt32>](repeating: .zero, count: width)
                return (0..<height).flatMap { y in
                    let rows = (y * bitmap.height / height)..<((y + 1) * bitmap.height / height)
                    var means = [SIMD4<Double>](repeating: .zero, count: width)
                    for row in rows {
                        sums.withUnsafeMutableBytes { sums in
                            larder_sum_cells(
                                pixels.baseAddress?.advanced(by: row * bitmap.stride), columns, width,
                                sums.baseAddress?.assumingMemoryBound(to: UInt32.self))
                        }
                        for x in 0..<width { means[x] += SIMD4<Double>(sums[x]) }
                    }
                    for x in 0..<width {
                        means[x] /= Double(255 * 255 * Int(columns[x + 1] - columns[x]) * rows.count)
                    }
                    return means
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
            // In the order of the format's own implementation, whose rounding errors decide where a factor is about 0;
            // eight frequencies side by side.
            let pairs = [(across: 0, down: 0)] + Frequencies(across, down).pairs
            var sums: [Double] = []
            for first in stride(from: 0, to: pairs.count, by: 8) {
                let some = pairs[first..<min(first + 8, pairs.count)]
                let columns = waves(some.map(\.across), width)
                let rows = waves(some.map(\.down), height)
                var sum = SIMD8<Double>.zero
                channel.withUnsafeBufferPointer { channel in
                    columns.withUnsafeBufferPointer { columns in
                        for y in 0..<height {
                            let rise = rows[y]
                            for x in 0..<width { sum += channel[y &* width &+ x] * columns[x] * rise }
                        }
                    }
                }
                sums += some.indices.map { sum[$0 - first] / Double(width * height) }
            }
            let factors = sums.dropFirst()
            let greatest = factors.reduce(0) { max($0, abs($1)) }
            constant = sums[0]
            // A plain area has no frequencies, only rounding errors: the same hash on every machine.
            scale = greatest < 1e-9 ? 0 : greatest
            nibbles = factors.map { [scale] in UInt8(halfUp(scale > 0 ? 15 * (0.5 + 0.5 / scale * $0) : 0)) }
        }
    }
}

/// For the middle of each pixel along a side the cosines of up to eight frequencies.
private func waves(_ frequencies: [Int], _ length: Int) -> [SIMD8<Double>] {
    (0..<length).map { position in
        var wave = SIMD8<Double>.zero
        for (index, frequency) in frequencies.enumerated() {
            wave[index] = cos(.pi / Double(length) * Double(frequency) * (Double(position) + 0.5))
        }
        return wave
    }
}

/// Half up, as the format's own implementation rounds.
private func halfUp(_ value: Double) -> Int { Int((value + 0.5).rounded(.down)) }
