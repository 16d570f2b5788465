import CImageCodecs
import Foundation
import TestSupport
import Testing

@testable import Larder

/// What a decode holds is what was checked before it began.
@Suite struct DecodeMemoryTests {
    /// A gray PNG of zeros, not compressed, so that every pass of an interlaced one is there.
    private static func grayColumn(height: Int, isInterlaced: Bool) -> [UInt8] {
        func big(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) } }
        // One byte of filter and one of pixel for each row, all of them zero.
        var left = 2 * height
        var data: [UInt8] = [0x78, 0x01]
        while left > 0 {
            let count = min(left, 0xFFFF)
            left -= count
            data.append(left == 0 ? 1 : 0)
            for half in [count, ~count] { data += [UInt8(half & 0xFF), UInt8(half >> 8 & 0xFF)] }
            data += [UInt8](repeating: 0, count: count)
        }
        // Adler-32 of zeros.
        data += big((2 * height % 65_521) << 16 | 1)
        let header = big(1) + big(height) + [8, 0, 0, 0, isInterlaced ? 1 : 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + ImageFixtures.chunk("IHDR", header)
            + ImageFixtures.chunk("IDAT", data) + ImageFixtures.chunk("IEND", [])
    }

    @Test(arguments: [true, false]) func rowsTakeNoMoreThanWasCheckedFor(isInterlaced: Bool) throws {
        let bytes = Self.grayColumn(height: 100_000, isInterlaced: isInterlaced)
        try bytes.withUnsafeBytes { bytes in
            let codec = try ImageDecoder.open(
                bytes, try ImageDecoder.header(of: bytes), limits: ImageLimits(), abort: nil)
            try codec.start(larder_request(min_width: 0, min_height: 0, gray: true, whole: false, fast: false))
            var rows = 0
            try codec.readStrips { _, stride, count in
                rows += count
                #expect(stride * count <= codec.need)
            }
            #expect(rows == 100_000)
        }
    }

    /// Each size weighs the source's rows anew: all of them count against what one decode may hold.
    @Test func severalSizesShareOneLimit() throws {
        let column = Self.grayColumn(height: 1_000_000, isInterlaced: false)
        var limits = ImageLimits()
        limits.maxDecodeBytes = 40 << 20
        #expect(try ThumbnailerTests.make(column, "256", limits: limits).count == 1)
        #expect(
            ImageDecoderTests.code { try ThumbnailerTests.make(column, "256", "255", "254", limits: limits) }
                == "too_large")
    }

    private static func profile(_ count: Int) -> [UInt8] {
        var profile = [UInt8](repeating: 0, count: count)
        profile.replaceSubrange(16..<20, with: Array("RGB ".utf8))
        return profile
    }

    private static func bitmap(_ icc: [UInt8]) throws -> Bitmap {
        try Bitmap(width: 8, height: 8, hasAlpha: false, icc: icc) { (pixels, _) throws(ImageError) in
            for index in pixels.indices { pixels[index] = 255 }
        }
    }

    /// Every thumbnail has a copy of the profile.
    @Test func aThumbnailTakesNoHugeProfileAlong() throws {
        let small = try ImageEncoder.jpeg(try Self.bitmap(Self.profile(100_000)))
        #expect(try #require(try ThumbnailerTests.make(small, "4").first).bytes.count > 100_000)
        let huge = try ImageEncoder.jpeg(try Self.bitmap(Self.profile(2 << 20)))
        #expect(try #require(try ThumbnailerTests.make(huge, "4").first).bytes.count < 10_000)
    }

    @Test func aProfileThatJPEGCannotHoldIsRefused() throws {
        let bitmap = try Self.bitmap(Self.profile(17 << 20))
        #expect(ImageDecoderTests.code { try ImageEncoder.jpeg(bitmap) } == "too_large")
    }

    /// A profile that libpng takes for damaged is left out.
    @Test func aDamagedProfileDoesNotFailAPNG() throws {
        let png = try ImageEncoder.png(try Self.bitmap(Self.profile(300)))
        let header = try png.withUnsafeBytes { try ImageDecoder.header(of: $0) }
        #expect(header.width == 8 && header.iccBytes == 0)
    }

    @Test func aJPEGOfTwoComponentsIsRefusedByItsHeader() throws {
        let base64 =
            "/9j/2wBDAAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQH/"
            + "wAAOCAAIAAgCAREAAhEA/8QAFAABAAAAAAAAAAAAAAAAAAAAAP/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAKAgEAAgAAPwA/Pz8//9k="
        let bytes = [UInt8](try #require(Data(base64Encoded: base64)))
        let header = try bytes.withUnsafeBytes { try ImageDecoder.header(of: $0) }
        #expect(header.width == 8 && header.color == nil && header.undecodable != nil)
    }
}
