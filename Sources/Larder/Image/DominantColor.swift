extension Bitmap {
    /// The colour of which there is most: what to paint where the picture will be, or around it.
    ///
    /// At most 64 × 64 pixels are looked at, so it costs the same for every size (well under a millisecond).
    /// Transparent pixels do not count; a picture without any other has no colour: alpha is 0.
    public var dominantColor: ImageColor {
        var histogram = ColorHistogram()
        let (stepX, stepY) = (max(1, width / 64), max(1, height / 64))
        withPixels { pixels in
            for y in Swift.stride(from: stepY / 2, to: height, by: stepY) {
                for x in Swift.stride(from: stepX / 2, to: width, by: stepX) {
                    let at = y * self.stride + 4 * x
                    histogram.add(pixels[at], pixels[at + 1], pixels[at + 2], weight: UInt64(pixels[at + 3]))
                }
            }
        }
        return histogram.peak
    }
}

/// Colours counted in 16 × 16 × 16 boxes.
private struct ColorHistogram {
    private struct Box {
        var weight: UInt64 = 0
        var red: UInt64 = 0
        var green: UInt64 = 0
        var blue: UInt64 = 0

        static func += (left: inout Box, right: Box) {
            left.weight += right.weight
            left.red += right.red
            left.green += right.green
            left.blue += right.blue
        }
    }

    private var boxes = [Box](repeating: Box(), count: 4096)

    mutating func add(_ red: UInt8, _ green: UInt8, _ blue: UInt8, weight: UInt64) {
        let index = Int(red >> 4) << 8 | Int(green >> 4) << 4 | Int(blue >> 4)
        boxes[index] += Box(
            weight: weight, red: weight * UInt64(red), green: weight * UInt64(green), blue: weight * UInt64(blue))
    }

    /// The mean of the heaviest box and its neighbours, since a colour on the border of a box is spread over several.
    var peak: ImageColor {
        var best = Box()
        for index in boxes.indices where boxes[index].weight > 0 {
            let sum = neighbourhood(of: index)
            if sum.weight > best.weight { best = sum }
        }
        guard best.weight > 0 else { return ImageColor(red: 0, green: 0, blue: 0, alpha: 0) }
        func mean(_ sum: UInt64) -> UInt8 { UInt8((sum + best.weight / 2) / best.weight) }
        return ImageColor(red: mean(best.red), green: mean(best.green), blue: mean(best.blue))
    }

    private func neighbourhood(of index: Int) -> Box {
        func around(_ level: Int) -> ClosedRange<Int> { max(0, level - 1)...min(15, level + 1) }
        var sum = Box()
        for red in around(index >> 8) {
            for green in around(index >> 4 & 15) {
                for blue in around(index & 15) { sum += boxes[red << 8 | green << 4 | blue] }
            }
        }
        return sum
    }
}
