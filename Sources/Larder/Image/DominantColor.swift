extension Bitmap {
    /// The colour of which there is most: what to paint where the picture will be, or around it.
    ///
    /// At most 127 × 127 pixels are looked at, so it costs the same for every size (well under a millisecond).
    /// Transparent pixels do not count; a picture without any other has no colour: alpha is 0.
    public var dominantColor: ImageColor {
        var boxes = [ColorBox](repeating: .zero, count: 4096)
        let (stepX, stepY) = (max(1, width / 64), max(1, height / 64))
        withPixels { pixels in
            boxes.withUnsafeMutableBufferPointer { boxes in
                for y in Swift.stride(from: stepY / 2, to: height, by: stepY) {
                    for x in Swift.stride(from: stepX / 2, to: width, by: stepX) {
                        let at = y * self.stride + 4 * x
                        let (red, green, blue) = (pixels[at], pixels[at + 1], pixels[at + 2])
                        let index = Int(red >> 4) << 8 | Int(green >> 4) << 4 | Int(blue >> 4)
                        boxes[index] &+= ColorBox(UInt32(red), UInt32(green), UInt32(blue), 1) &* UInt32(pixels[at + 3])
                    }
                }
            }
        }
        return boxes.withUnsafeBufferPointer { peak($0) }
    }
}

/// Red, green and blue of some pixels, each times alpha, and alpha; their boxes are 16 × 16 × 16. At most 127 × 127 pixels
/// are added up: no sum overflows.
private typealias ColorBox = SIMD4<UInt32>

/// The mean of the heaviest box and its neighbours, since a colour on the border of a box is spread over several.
private func peak(_ boxes: UnsafeBufferPointer<ColorBox>) -> ImageColor {
    var best = ColorBox.zero
    for index in boxes.indices where boxes[index].w > 0 {
        let sum = neighbourhood(of: index, boxes)
        if sum.w > best.w { best = sum }
    }
    guard best.w > 0 else { return ImageColor(red: 0, green: 0, blue: 0, alpha: 0) }
    func mean(_ sum: UInt32) -> UInt8 { UInt8((sum + best.w / 2) / best.w) }
    return ImageColor(red: mean(best.x), green: mean(best.y), blue: mean(best.z))
}

private func neighbourhood(of index: Int, _ boxes: UnsafeBufferPointer<ColorBox>) -> ColorBox {
    func around(_ level: Int) -> ClosedRange<Int> { max(0, level - 1)...min(15, level + 1) }
    var sum = ColorBox.zero
    for red in around(index >> 8) {
        for green in around(index >> 4 & 15) {
            for blue in around(index & 15) { sum &+= boxes[red << 8 | green << 4 | blue] }
        }
    }
    return sum
}
