import TestSupport
import Testing

@testable import Larder

@Suite struct ThumbnailerTests {
    static func make(
        _ bytes: [UInt8], _ sizes: String..., output: ThumbnailOutput = ThumbnailOutput(),
        limits: ImageLimits = ImageLimits()
    ) throws -> [Thumbnail] {
        try bytes.withUnsafeBytes {
            try Thumbnailer.make($0, sizes: sizes.compactMap { ThumbnailSize($0) }, output: output, limits: limits)
        }
    }

    /// The mean difference of all channels.
    static func difference(_ first: Bitmap, _ second: Bitmap) -> Double {
        guard first.width == second.width, first.height == second.height else { return .infinity }
        let sum = zip(first.packed, second.packed).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        return Double(sum) / Double(4 * first.width * first.height)
    }

    @Test func allOrientationsLookTheSameUpright() throws {
        let upright = try ImageFixtures.bitmap(width: 400, height: 240)
        let inverse: [Orientation: Orientation] = [.right: .left, .left: .right]
        let expected = try #require(try Self.make(try ImageEncoder.jpeg(upright), "100").first)
        #expect(expected.width == 100 && expected.height == 60)
        for orientation in Orientation.allCases {
            let stored = try upright.oriented(inverse[orientation] ?? orientation)
            let made = try #require(try Self.make(try ImageEncoder.jpeg(stored, orientation: orientation), "100").first)
            #expect(Self.difference(made.bitmap, expected.bitmap) < 1.5, "\(orientation)")
            // Nothing states the orientation again.
            let header = try made.bytes.withUnsafeBytes { try ImageDecoder.header(of: $0) }
            #expect(!header.hasOrientation && header.width == 100 && header.height == 60)
        }
    }

    /// The same pixels are cut off, though an odd number of them sticks out and an axis is stored backwards.
    @Test(arguments: [(93, 61), (61, 93)]) func allOrientationsAreCroppedAlike(width: Int, height: Int) throws {
        let upright = try Bitmap(width: width, height: height, hasAlpha: false) { (pixels, stride) throws(ImageError) in
            for y in 0..<height {
                for x in 0..<width {
                    for channel in 0..<4 {
                        pixels[y * stride + 4 * x + channel] =
                            channel == 3 ? 255 : UInt8(truncatingIfNeeded: (x * x * 7 + y * y * 13 + channel) * 31)
                    }
                }
            }
        }
        let size = try #require(ThumbnailSize(width: 40, height: 40, rule: .onlyShrink, crop: true))
        func thumbnail(_ orientation: Orientation) throws -> Bitmap {
            let inverse: [Orientation: Orientation] = [.right: .left, .left: .right]
            let png = try ImageEncoder.png(try upright.oriented(inverse[orientation] ?? orientation))
            // The segment's TIFF block, behind marker, length and `Exif`.
            let stated = ImageFixtures.inserting("eXIf", Array(Exif.segment(orientation).dropFirst(10)), into: png)
            return try stated.withUnsafeBytes { try #require(try Thumbnailer.make($0, sizes: [size]).first) }.bitmap
        }
        let expected = try thumbnail(.up)
        #expect(expected.width == 40 && expected.height == 40)
        for orientation in Orientation.allCases {
            #expect(Self.difference(try thumbnail(orientation), expected) < 1, "\(orientation)")
        }
    }

    @Test(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.missing)), arguments: ["Landscape", "Portrait"])
    func theEightOrientationsOfTheCorpusLookTheSame(kind: String) throws {
        func thumbnail(_ number: Int) throws -> Bitmap {
            let bytes = try Corpus.bytes("good/jpeg-exif-orient__\(kind)_\(number).jpg")
            return try #require(try Self.make(bytes, "96").first).bitmap
        }
        let first = try thumbnail(1)
        // The pictures are drawn with their number in them and saved apart: alike, not equal.
        for number in 2...8 { #expect(Self.difference(first, try thumbnail(number)) < 6, "\(number)") }
    }

    @Test func severalSizesComeFromOneDecode() throws {
        let jpeg = try ImageFixtures.jpeg(width: 1600, height: 1200)
        let made = try Self.make(jpeg, "400", "64x64!", "x30", "2000x>")
        #expect(made.map { "\($0.width)x\($0.height)" } == ["400x300", "64x64", "40x30", "1600x1200"])
        #expect(made.allSatisfy { $0.format == .jpeg && $0.bitmap.width == $0.width && !$0.bitmap.hasAlpha })
        let alone = try Self.make(jpeg, "64x64!")
        #expect(Self.difference(made[1].bitmap, alone[0].bitmap) < 2)
    }

    @Test func scalingKeepsFlatColourAndPlace() throws {
        let flat = try Bitmap(width: 777, height: 333, hasAlpha: false) { (pixels, _) throws(ImageError) in
            for index in 0..<pixels.count { pixels[index] = [200, 100, 50, 255][index % 4] }
        }
        for size in ["100", "31x17!", "1000x", "1x1!"] {
            let made = try #require(try Self.make(try ImageEncoder.png(flat), size).first)
            #expect(made.bitmap.packed.chunkedBy4.allSatisfy { $0 == [200, 100, 50, 255] }, "\(size)")
        }
        // A gradient stays where it was, whatever scale libjpeg chose.
        let jpeg = try ImageFixtures.jpeg(width: 1237, height: 619, quality: 95)
        let made = try #require(try Self.make(jpeg, "103x52!").first)
        for x in [40, 60, 80, 102] {
            let expected = 255 * (Double(x) + 0.5) / 103
            #expect(abs(Double(made.bitmap.pixel(x, 40)[0]) - expected) < 4, "\(x)")
        }
    }

    @Test func translucentPixelsAreNotDarkened() throws {
        // Left half red and opaque, right half black and clear: no dark rim where they meet.
        let bitmap = try Bitmap(width: 200, height: 100, hasAlpha: true) { (pixels, stride) throws(ImageError) in
            for y in 0..<100 {
                for x in 0..<200 {
                    let place = y * stride + 4 * x
                    for channel in 0..<4 { pixels[place + channel] = x < 101 ? [255, 0, 0, 255][channel] : 0 }
                }
            }
        }
        let made = try #require(try Self.make(try ImageEncoder.png(bitmap), "20x10!").first)
        #expect(made.format == .png && made.bitmap.hasAlpha)
        for x in 0..<20 where made.bitmap.pixel(x, 5)[3] > 8 { #expect(made.bitmap.pixel(x, 5)[0] > 240, "\(x)") }
        #expect(made.bitmap.pixel(19, 5)[3] == 0)
        // As JPEG it lies on white.
        let flat = try #require(
            try Self.make(try ImageEncoder.png(bitmap), "20x10!", output: ThumbnailOutput(format: .jpeg)).first)
        #expect(flat.format == .jpeg)
        let decoded = try ImageDecoderTests.decode(flat.bytes)
        #expect(decoded.pixel(18, 5).allSatisfy { $0 > 240 })
    }

    @Test func alphaThatHidesNothingGivesJPEG() throws {
        let bitmap = try ImageFixtures.bitmap(width: 64, height: 64)
        let opaque = try Bitmap(width: 64, height: 64, hasAlpha: true) { (pixels, _) throws(ImageError) in
            bitmap.withPixels { pixels.copyMemory(from: $0) }
        }
        #expect(try Self.make(try ImageEncoder.png(opaque), "32").first?.format == .jpeg)
        #expect(
            try Self.make(try ImageEncoder.png(bitmap), "32", output: ThumbnailOutput(format: .png)).first?.format
                == .png)
        #expect(
            ImageDecoderTests.code {
                try Self.make(try ImageEncoder.png(bitmap), "32", output: ThumbnailOutput(format: .webp))
            } == "unsupported_format")
    }

    @Test(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.missing)))
    func profilesAreCarriedWhereTheyFit() throws {
        func icc(_ file: String) throws -> (before: Int, after: Int) {
            let bytes = try Corpus.bytes(file)
            let made = try #require(try Self.make(bytes, "32").first)
            let header = try made.bytes.withUnsafeBytes { try ImageDecoder.header(of: $0) }
            return (try bytes.withUnsafeBytes { try ImageDecoder.header(of: $0) }.iccBytes, header.iccBytes)
        }
        let display = try icc("good/jpeg-icc__image-p3.jpg")
        #expect(display.before > 0 && display.after == display.before)
        // Several segments, and a profile that is not whole.
        let large = try icc("good/jpeg-icc__icc_profile_big.jpg")
        #expect(large.before > 65_535 && large.after == large.before)
        #expect(try icc("good/jpeg-icc__icc_missing_chunk.jpeg") == (0, 0))
    }

    @Test func aCMYKProfileNeverGoesIntoRGB() throws {
        func profile(_ space: String) -> [UInt8] {
            [UInt8](repeating: 0, count: 16) + Array(space.utf8) + [UInt8](repeating: 0, count: 200)
        }
        let bitmap = try ImageFixtures.bitmap(width: 64, height: 64)
        for (space, isCarried) in [("RGB ", true), ("CMYK", false), ("GRAY", false)] {
            let tagged = try Bitmap(width: 64, height: 64, hasAlpha: false, icc: profile(space)) {
                (pixels, _) throws(ImageError) in
                bitmap.withPixels { pixels.copyMemory(from: $0) }
            }
            let made = try #require(try Self.make(try ImageEncoder.jpeg(tagged), "32").first)
            let header = try made.bytes.withUnsafeBytes { try ImageDecoder.header(of: $0) }
            #expect((header.iccBytes > 0) == isCarried, "\(space)")
        }
    }

    @Test func grayStaysGray() throws {
        guard Corpus.isPresent else { return }
        let made = try #require(try Self.make(try Corpus.bytes("photos/flower_gray.jpg"), "128").first)
        let header = try made.bytes.withUnsafeBytes { try ImageDecoder.header(of: $0) }
        #expect(header.color == .gray)
        let pixel = made.bitmap.pixel(60, 40)
        #expect(pixel[0] == pixel[1] && pixel[1] == pixel[2] && pixel[3] == 255)
    }

    @Test func memoryDoesNotGrowWithTheSource() throws {
        // 16 MB of pixels, but only rows are held.
        let png = try ImageFixtures.png(width: 2000, height: 2000)
        let limits = ImageLimits(maxDecodeBytes: 2 << 20)
        #expect(ImageDecoderTests.code { try ImageDecoderTests.decode(png, limits: limits) } == "too_large")
        #expect(try Self.make(png, "100", limits: limits).count == 1)
    }

    @Test func damagedSourcesGiveNoThumbnail() throws {
        let jpeg = try ImageFixtures.jpeg(width: 300, height: 200)
        #expect(ImageDecoderTests.code { try Self.make(Array(jpeg.prefix(jpeg.count / 2)), "64") } == "truncated")
    }
}

extension Array where Element == UInt8 {
    fileprivate var chunkedBy4: [[UInt8]] { stride(from: 0, to: count, by: 4).map { Array(self[$0..<$0 + 4]) } }
}
