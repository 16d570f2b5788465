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

        var wanted: [Small.Wanted] = [(.luminance, max(3, across), max(3, down)), (.first, 3, 3), (.second, 3, 3)]
        if small.hasAlpha { wanted.append((.alpha, 5, 5)) }
        let transforms = small.transforms(wanted)
        let (luminance, first, second) = (transforms[0], transforms[1], transforms[2])
        let alpha = small.hasAlpha ? transforms[3] : nil

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
        enum Channel: Int { case luminance, first, second, alpha }
        /// A channel and how many frequencies of it, across and down.
        typealias Wanted = (channel: Channel, across: Int, down: Int)

        let width, height: Int
        let hasAlpha: Bool
        /// One channel after the other.
        private let samples: [Double]

        init(_ bitmap: Bitmap) {
            let longer = max(bitmap.width, bitmap.height)
            let width = longer <= 100 ? bitmap.width : max(1, (bitmap.width * 100 + longer / 2) / longer)
            let height = longer <= 100 ? bitmap.height : max(1, (bitmap.height * 100 + longer / 2) / longer)
            let count = width * height
            var hasAlpha = false
            samples = [Double](unsafeUninitializedCapacity: 4 * count) { planes, initialized in
                Self.average(bitmap, width, height, into: planes)
                initialized = 4 * count
                var sum = SIMD4<Double>.zero
                if bitmap.hasAlpha {
                    for index in 0..<count {
                        sum += SIMD4(
                            planes[index], planes[count + index], planes[2 * count + index], planes[3 * count + index])
                    }
                    hasAlpha = sum.w < Double(count)
                }
                // What is premultiplied sums up to the average that the visible has.
                let average = sum.w > 0 ? sum / sum.w : SIMD4()
                for index in 0..<count {
                    let hidden = 1 - planes[3 * count + index]
                    let red = planes[index] + average.x * hidden
                    let green = planes[count + index] + average.y * hidden
                    let blue = planes[2 * count + index] + average.z * hidden
                    planes[index] = (red + green + blue) / 3
                    planes[count + index] = (red + green) / 2 - blue
                    planes[2 * count + index] = red - green
                }
            }
            self.width = width
            self.height = height
            self.hasAlpha = hasAlpha
        }

        /// The mean of each target pixel's part of the picture: red, green, blue premultiplied, and alpha, 0 to 1.
        private static func average(
            _ bitmap: Bitmap, _ width: Int, _ height: Int, into planes: UnsafeMutableBufferPointer<Double>
        ) {
            bitmap.withPixels { pixels in
                guard bitmap.width > width || bitmap.height > height else {
                    // To the bit what the format's own implementation has.
                    for index in 0..<width * height {
                        let at = index / width * bitmap.stride + 4 * (index % width)
                        let factor = Double(pixels[at + 3]) / 255 / 255
                        for channel in 0..<3 {
                            planes[channel * width * height + index] = Double(pixels[at + channel]) * factor
                        }
                        planes[3 * width * height + index] = 255 * factor
                    }
                    return
                }
                let columns = (0...width).map { UInt32($0 * bitmap.width / width) }
                let rows = (0...height).map { UInt32($0 * bitmap.height / height) }
                columns.withUnsafeBufferPointer { columns in
                    rows.withUnsafeBufferPointer { rows in
                        var cells = larder_cells(
                            columns: columns.baseAddress, rows: rows.baseAddress, width: UInt32(width),
                            height: UInt32(height))
                        larder_average_cells(
                            pixels.baseAddress?.assumingMemoryBound(to: UInt8.self), bitmap.stride, &cells,
                            bitmap.hasAlpha, planes.baseAddress)
                    }
                }
            }
        }

        /// Of each channel the lowest frequencies across and down, in one pass.
        ///
        /// In the order of the format's own implementation, whose rounding errors decide where a factor is about 0.
        func transforms(_ wanted: [Wanted]) -> [Transform] {
            let pairs = wanted.map { [(across: 0, down: 0)] + Frequencies($0.across, $0.down).pairs }
            let groups = Int(LARDER_WAVE_GROUPS)
            // A channel takes as many groups of eight as its frequencies fill: at most six for all.
            var starts = [0]
            var (across, down) = ([(place: Int, frequency: Int)](), [(place: Int, frequency: Int)]())
            for pairs in pairs {
                let start = starts[starts.count - 1]
                for (index, pair) in pairs.enumerated() {
                    across.append((8 * start + index, pair.across))
                    down.append((8 * start + index, pair.down))
                }
                starts.append(start + (pairs.count + 7) / 8)
            }
            let columns = Self.values(across, width, groups)
            let rows = Self.values(down, height, groups)
            var sums = [Double](repeating: 0, count: 8 * groups)
            samples.withUnsafeBufferPointer { samples in
                var channels = [UnsafePointer<Double>?](repeating: samples.baseAddress, count: groups)
                for (index, wanted) in wanted.enumerated() {
                    for group in starts[index]..<starts[index + 1] {
                        channels[group] = samples.baseAddress.map { $0 + wanted.channel.rawValue * width * height }
                    }
                }
                larder_cosine_sums(channels, UInt32(width), UInt32(height), columns, rows, &sums)
            }
            return zip(pairs, starts).map { pairs, start in
                Transform(sums: Array(sums[(8 * start)...].prefix(pairs.count)), count: width * height)
            }
        }

        /// For the middle of each pixel along a side the cosine of each wave's frequency, at its place.
        private static func values(_ waves: [(place: Int, frequency: Int)], _ length: Int, _ groups: Int) -> [Double] {
            let most = waves.reduce(0) { max($0, $1.frequency) }
            var values = [Double](repeating: 0, count: 8 * groups * length)
            for position in 0..<length {
                let cosines = (0...most).map { cos(.pi / Double(length) * Double($0) * (Double(position) + 0.5)) }
                for wave in waves { values[8 * groups * position + wave.place] = cosines[wave.frequency] }
            }
            return values
        }
    }

    /// A cosine transform, the lowest frequencies of it.
    private struct Transform {
        let constant: Double
        let scale: Double
        /// The factors in 4 bits, relative to the greatest.
        let nibbles: [UInt8]

        /// - Parameters:
        ///   - sums: of all samples times each wave, that of the constant first.
        ///   - count: of samples.
        init(sums: [Double], count: Int) {
            let factors = sums.dropFirst().map { $0 / Double(count) }
            let greatest = factors.reduce(0) { max($0, abs($1)) }
            constant = sums[0] / Double(count)
            // A plain area has no frequencies, only rounding errors: the same hash on every machine.
            scale = greatest < 1e-9 ? 0 : greatest
            nibbles = factors.map { [scale] in UInt8(halfUp(scale > 0 ? 15 * (0.5 + 0.5 / scale * $0) : 0)) }
        }
    }
}

/// Half up, as the format's own implementation rounds.
private func halfUp(_ value: Double) -> Int { Int((value + 0.5).rounded(.down)) }
