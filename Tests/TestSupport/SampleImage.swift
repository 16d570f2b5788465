/// Whole images of a wished length, for tests that do not look at pixels.
package enum SampleImage {
    /// The beginning of an image that may well come to a good end: it waits for more and is refused by nobody.
    package static var pngBeginning: [UInt8] { Array(png().prefix(8)) }

    /// A PNG of 1 x 1 pixels that is `count` bytes long (at least 81), padded by a private chunk before its end.
    package static func png(_ count: Int = 200, seed: UInt8 = 1) -> [UInt8] {
        let whole = HostileCase.image
        let end = whole.suffix(12)
        let padding = max(0, count - whole.count - 12)
        let length = (0..<4).map { UInt8(truncatingIfNeeded: padding >> (24 - 8 * $0)) }
        var chunk = length + Array("prVt".utf8)
        chunk += (0..<padding).map { UInt8(truncatingIfNeeded: $0 &* 31) ^ seed }
        return whole.dropLast(12) + chunk + [0, 0, 0, 0] + end
    }
}
