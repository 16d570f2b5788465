import Testing

@testable import Larder

/// Against hashes and pixels of another implementation of the published format.
@Suite struct ThumbHashTests {
    static let published = [
        Sample(
            "1QcSHQRnh493V4dIh4eXh1h4kJUI", 23, 32, corner: [64, 78, 113, 255], middle: [140, 110, 89, 255],
            last: [0, 4, 40, 255]),
        Sample(
            "3OcRJYB4d3h/iIeHeEh3eIhw+j3A", 32, 23, corner: [125, 137, 159, 255], middle: [113, 125, 139, 255],
            last: [87, 99, 46, 255]),
        Sample(
            "IQgSLYZ6iHePh4h1eFeHh4dwgwg3", 32, 23, corner: [130, 173, 231, 255], middle: [194, 174, 153, 255],
            last: [63, 48, 28, 255]),
        Sample(
            "YJqGPQw7sFlslqhFafSE+Q6oJ1h2iHB2Rw==", 32, 32, corner: [229, 75, 52, 0], middle: [107, 103, 109, 255],
            last: [255, 137, 0, 0]),
    ]

    struct Sample: Sendable, CustomTestStringConvertible {
        let hash: String
        let width, height: Int
        let corner, middle, last: [UInt8]
        init(_ hash: String, _ width: Int, _ height: Int, corner: [UInt8], middle: [UInt8], last: [UInt8]) {
            self.hash = hash
            self.width = width
            self.height = height
            self.corner = corner
            self.middle = middle
            self.last = last
        }
        var testDescription: String { hash }
    }

    @Test(arguments: published) func decodes(sample: Sample) throws {
        let hash = try #require(ThumbHash(base64: sample.hash))
        let bitmap = try hash.bitmap()
        #expect(bitmap.width == sample.width && bitmap.height == sample.height)
        #expect(bitmap.hasAlpha == (sample.corner[3] == 0))
        #expect(near(bitmap.pixel(0, 0), sample.corner))
        #expect(near(bitmap.pixel(sample.width / 2, sample.height / 2), sample.middle))
        #expect(near(bitmap.pixel(sample.width - 1, sample.height - 1), sample.last))
        #expect(hash.base64 == sample.hash)
    }

    @Test func encodesAGradient() throws {
        let bitmap = try drawn(64, 48) { x, y in (x * 4 & 255, y * 5 & 255, (x + y) * 2 & 255, 255) }
        #expect(ThumbHash(bitmap).base64 == "XRgODZpwd3eBiIh4iHiIh3iACPeH")
    }

    @Test func encodesAlphaAndPortrait() throws {
        let bitmap = try drawn(30, 50) { x, y in (x * 8 & 255, 255 - y * 5, y * 3, x * 8 & 255) }
        #expect(ThumbHash(bitmap).base64 == "HjqGMww34Fx4iIeVTzgLe3B3eIiIeHg=")
    }

    @Test func encodesAWideEdge() throws {
        let bitmap = try drawn(100, 10) { x, _ in (x < 50 ? 255 : 0, 128, x * 2 & 255, 255) }
        #expect(ThumbHash(bitmap).base64 == "3fgJoaiPgop4eHiHj4j4h4c=")
    }

    @Test func aPlainAreaStaysPlain() throws {
        let hash = ThumbHash(try drawn(20, 20) { _, _ in (200, 30, 90, 255) })
        let bitmap = try hash.bitmap()
        #expect(near(bitmap.pixel(3, 3), [200, 30, 90, 255], by: 6))
        #expect(bitmap.pixel(3, 3) == bitmap.pixel(28, 30))
        #expect(near([hash.averageColor.red, hash.averageColor.green, hash.averageColor.blue], [200, 30, 90], by: 6))
    }

    /// A large picture gives the hash of the small one that it looks like.
    @Test func scalesDownFirst() throws {
        let small = try drawn(64, 48) { x, y in (x * 4, y * 5, x + y, 255) }
        let large = try drawn(640, 480) { x, y in (x / 10 * 4, y / 10 * 5, x / 10 + y / 10, 255) }
        let (one, two) = (try ThumbHash(small).bitmap(), try ThumbHash(large).bitmap())
        // One step of the coarse waves that the hash keeps.
        #expect(near(one.pixel(5, 5), two.pixel(5, 5), by: 16))
        #expect(near(one.pixel(25, 20), two.pixel(25, 20), by: 16))
        // A line is no division by nothing.
        #expect(ThumbHash(try drawn(4000, 1) { x, _ in (x & 255, 0, 0, 255) }).aspectRatio == 7)
    }

    /// However many pixels a cell has: the means are those of the same picture drawn smaller.
    @Test(arguments: [255, 130]) func everyPixelCounts(alpha: Int) throws {
        func color(_ cell: Int) -> (Int, Int, Int, Int) { (cell * 2, 255 - cell, cell * cell & 255, alpha) }
        let wide = try [3, 300].map { cell in ThumbHash(try drawn(100 * cell, 4) { x, _ in color(x / cell) }) }
        #expect(wide[0] == wide[1])
        let tall = try [3, 300].map { cell in ThumbHash(try drawn(4, 100 * cell) { _, y in color(y / cell) }) }
        #expect(tall[0] == tall[1])
        // Opaque by its pixels, and by what is said of it.
        guard alpha == 255 else { return }
        let opaque = ThumbHash(try drawn(300, 4, hasAlpha: false) { x, _ in color(x / 3) })
        #expect(wide[0] == opaque)
    }

    @Test func everyHashOfOursIsReadBack() throws {
        for (width, height) in [(1, 1), (1, 100), (100, 1), (3, 7), (99, 100), (250, 40)] {
            for alpha in [255, 128, 0] {
                let hash = ThumbHash(try drawn(width, height) { x, y in (x & 255, y & 255, 7, alpha) })
                let back = try #require(ThumbHash(bytes: hash.bytes), "\(width)x\(height), alpha \(alpha)")
                let bitmap = try back.bitmap()
                #expect(max(bitmap.width, bitmap.height) == 32)
            }
        }
    }

    @Test(arguments: [[], [1], [1, 2, 3, 4], [0, 0, 0, 0, 0], [UInt8](repeating: 255, count: 6)])
    func refusesWhatIsNoHash(bytes: [UInt8]) { #expect(ThumbHash(bytes: bytes) == nil) }

    @Test func refusesAWrongLength() throws {
        let bytes = try #require(ThumbHash(base64: "1QcSHQRnh493V4dIh4eXh1h4kJUI")).bytes
        #expect(ThumbHash(bytes: Array(bytes.dropLast())) == nil)
        #expect(ThumbHash(bytes: bytes + [0]) == nil)
        #expect(ThumbHash(base64: "not base64") == nil)
    }

    @Test func findsTheColourOfWhichThereIsMost() throws {
        let mostlyBlue = try drawn(100, 100) { x, y in x + y < 60 ? (250, 250, 10, 255) : (20 + x % 3, 30, 200, 255) }
        #expect(near([mostlyBlue.dominantColor.red, mostlyBlue.dominantColor.blue], [21, 200], by: 2))
        let onABorder = try drawn(64, 64) { x, y in
            y < 24 ? (255, 0, 0, 255) : (x % 2 == 0 ? 127 : 128, 128 - y % 2, 127 + x % 2, 255)
        }
        #expect(near([onABorder.dominantColor.red, onABorder.dominantColor.green], [128, 128], by: 1))
        let transparent = try drawn(10, 10) { x, _ in x < 9 ? (255, 0, 0, 0) : (0, 255, 0, 255) }
        #expect(transparent.dominantColor.hex == "#00ff00")
        #expect(try drawn(4, 4) { _, _ in (1, 2, 3, 0) }.dominantColor.alpha == 0)
    }
}

private func drawn(
    _ width: Int, _ height: Int, hasAlpha: Bool = true, _ color: (Int, Int) -> (Int, Int, Int, Int)
) throws -> Bitmap {
    try Bitmap(width: width, height: height, hasAlpha: hasAlpha) { pixels, stride in
        for y in 0..<height {
            for x in 0..<width {
                let (red, green, blue, alpha) = color(x, y)
                for (channel, value) in [red, green, blue, alpha].enumerated() {
                    pixels[y * stride + 4 * x + channel] = UInt8(value & 255)
                }
            }
        }
    }
}

extension Bitmap {
    fileprivate func pixel(_ x: Int, _ y: Int) -> [UInt8] {
        withPixels { Array($0[y * stride + 4 * x..<y * stride + 4 * x + 4]) }
    }
}

private func near(_ left: [UInt8], _ right: [UInt8], by distance: Int = 1) -> Bool {
    left.count == right.count && zip(left, right).allSatisfy { abs(Int($0) - Int($1)) <= distance }
}
