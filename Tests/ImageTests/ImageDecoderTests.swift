import CImageCodecs
import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite struct ImageDecoderTests {
    static func decode(
        _ bytes: [UInt8], limits: ImageLimits = ImageLimits(), fitting: (width: Int, height: Int)? = nil,
        abort: AbortFlag? = nil
    ) throws -> Bitmap {
        try bytes.withUnsafeBytes { try ImageDecoder.decode($0, limits: limits, fitting: fitting, abort: abort) }
    }

    static func code(_ body: () throws -> some Any) -> String? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? ImageError)?.code
        }
    }

    private struct Reference: Decodable {
        var width: Int
        var height: Int
        var sha256: String
        var samples: String
    }

    private static let references: [String: Reference] = {
        let place = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Reference/decoded.json")
        guard let data = try? Data(contentsOf: place) else { return [:] }
        return (try? JSONDecoder().decode([String: Reference].self, from: data)) ?? [:]
    }()

    /// What djpeg, pngtopam and Pillow give: the same bytes, or, with another libjpeg, within 1 at the samples.
    @Test(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.missing)))
    func pixelsEqualThoseOfTheLibrariesOwnTools() throws {
        var compared = 0
        for record in Corpus.records where record.expect == "ok" {
            guard let reference = Self.references[record.file] else { continue }
            let bitmap = try Self.decode(try Corpus.bytes(record.file))
            #expect(bitmap.width == reference.width && bitmap.height == reference.height, "\(record.file)")
            compared += 1
            let digest = bitmap.withPixels { pixels in
                var hash = SHA256()
                for row in 0..<bitmap.height {
                    hash.update(
                        UnsafeRawBufferPointer(
                            rebasing: pixels[row * bitmap.stride..<row * bitmap.stride + 4 * bitmap.width]))
                }
                return hash.finalize().map { String(format: "%02x", $0) }.joined()
            }
            if digest == reference.sha256 { continue }
            let expected = Array(reference.samples.utf8).chunked(2).map {
                UInt8(String(decoding: $0, as: UTF8.self), radix: 16) ?? 0
            }
            for step in 0..<32 {
                let place = bitmap.width * bitmap.height * step / 32
                let found = bitmap.pixel(place % bitmap.width, place / bitmap.width)
                for channel in 0..<4 {
                    #expect(
                        abs(Int(found[channel]) - Int(expected[4 * step + channel])) <= 1,
                        "\(record.file) pixel \(place)")
                }
            }
        }
        #expect(compared > 150)
    }

    @Test func sixteenBitsAreRounded() throws {
        // One gray pixel of 16 bits each: 0x0080 rounds to 0 (0.498), 0x00FF to 1, 0x7FFF to 127, 0xFF7F to 255.
        for (value, expected) in [(0x0080, 0), (0x00FF, 1), (0x7FFF, 127), (0xFF7F, 255), (0x0181, 1), (0x0182, 2)] {
            let raw: [UInt8] = [0, UInt8(value >> 8), UInt8(value & 0xFF)]
            let png = Self.png(width: 1, height: 1, depth: 16, color: 0, raw: raw)
            #expect(
                try Self.decode(png).pixel(0, 0) == [UInt8(expected), UInt8(expected), UInt8(expected), 255], "\(value)"
            )
        }
    }

    /// A PNG with stored (uncompressed) deflate data.
    static func png(width: UInt8, height: UInt8, depth: UInt8, color: UInt8, raw: [UInt8]) -> [UInt8] {
        let length = UInt16(raw.count)
        let stored = [1, UInt8(length & 0xFF), UInt8(length >> 8), UInt8(~length & 0xFF), UInt8(~length >> 8)] + raw
        var (low, high): (UInt32, UInt32) = (1, 0)
        for byte in raw {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        let check = (high << 16 | low)
        let adler = (0..<4).map { UInt8(check >> (24 - 8 * $0) & 0xFF) }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + ImageFixtures.chunk("IHDR", [0, 0, 0, width, 0, 0, 0, height, depth, color, 0, 0, 0])
            + ImageFixtures.chunk("IDAT", [0x78, 0x01] + stored + adler) + ImageFixtures.chunk("IEND", [])
    }

    @Test func whatADecodeHoldsIsLimitedBeforeItBegins() throws {
        let jpeg = try ImageFixtures.jpeg(width: 1000, height: 1000)
        // 4 MB of pixels and some rows.
        #expect(Self.code { try Self.decode(jpeg, limits: ImageLimits(maxDecodeBytes: 5_000_000)) } == "too_large")
        #expect(Self.code { try Self.decode(jpeg, limits: ImageLimits(maxDecodeBytes: 6 << 20)) } == nil)
        // 3 MB of coefficients more.
        let progressive = try ImageFixtures.jpeg(width: 1000, height: 1000, progressive: true, quality: 95)
        #expect(Self.code { try Self.decode(progressive, limits: ImageLimits(maxDecodeBytes: 8 << 20)) } == "too_large")
        #expect(Self.code { try Self.decode(progressive, limits: ImageLimits(maxDecodeBytes: 16 << 20)) } == nil)
        let png = try ImageFixtures.png(width: 1000, height: 1000)
        #expect(Self.code { try Self.decode(png, limits: ImageLimits(maxDecodeBytes: 4 << 20)) } == "too_large")
        #expect(Self.code { try Self.decode(png, limits: ImageLimits(maxDecodeBytes: 6 << 20)) } == nil)
    }

    @Test func scansAreLimited() throws {
        let progressive = try ImageFixtures.jpeg(width: 64, height: 64, progressive: true)
        #expect(Self.code { try Self.decode(progressive, limits: ImageLimits(maxScans: 3)) } == "too_large")
        #expect(Self.code { try Self.decode(progressive) } == nil)
    }

    @Test func aRaisedFlagEndsTheDecode() throws {
        for bytes in [
            try ImageFixtures.jpeg(width: 64, height: 64),
            try ImageFixtures.jpeg(width: 64, height: 64, progressive: true),
            try ImageFixtures.png(width: 64, height: 64),
        ] {
            let flag = AbortFlag()
            #expect(Self.code { try Self.decode(bytes, abort: flag) } == nil)
            flag.abort()
            #expect(flag.isAborted)
            #expect(Self.code { try Self.decode(bytes, abort: flag) } == "cancelled")
        }
    }

    @Test func halfAFileIsTruncatedAndDamageIsCorrupt() throws {
        let baseline = try ImageFixtures.jpeg(width: 300, height: 200)
        let progressive = try ImageFixtures.jpeg(width: 300, height: 200, progressive: true)
        let png = try ImageFixtures.png(width: 300, height: 200)
        for bytes in [baseline, progressive, png] {
            for share in [50, 75, 90] {
                #expect(Self.code { try Self.decode(Array(bytes.prefix(bytes.count * share / 100))) } == "truncated")
            }
        }
        // Only EOI is missing: every pixel of a baseline picture is there, but a progressive one may lack a scan.
        #expect(Self.code { try Self.decode(baseline.dropLast(2)) } == nil)
        #expect(Self.code { try Self.decode(progressive.dropLast(2)) } == "truncated")
        var damaged = png
        damaged[png.count / 2] ^= 0x55
        #expect(Self.code { try Self.decode(damaged) } == "corrupt")
    }

    @Test func strayBytesDoNoHarm() throws {
        let jpeg = try ImageFixtures.jpeg(width: 64, height: 48)
        let expected = try Self.decode(jpeg).packed
        #expect(try Self.decode(jpeg + [1, 2, 3]).packed == expected)
        let between = Array(jpeg[..<20] + [0, 0x55, 0xFF, 0] + jpeg[20...])
        #expect(try Self.decode(between).packed == expected)
        let png = try ImageFixtures.png(width: 64, height: 48)
        #expect(try Self.decode(png + [1, 2, 3]).packed == (try ImageFixtures.bitmap(width: 64, height: 48)).packed)
    }

    @Test func scaledDecodesAreNeverSmallerThanAskedFor() throws {
        let jpeg = try ImageFixtures.jpeg(width: 801, height: 603)
        for (asked, expected) in [
            ((100, 76), 101), ((101, 76), 101), ((102, 76), 201), ((250, 10), 401), ((500, 10), 801),
            ((9000, 9000), 801),
        ] {
            #expect(try Self.decode(jpeg, fitting: asked).width == expected, "\(asked)")
        }
    }

    @Test func featuresThatTheLibrariesLackAreSaid() throws {
        guard Corpus.isPresent else { return }
        for (file, reason) in [
            ("good/jpeg-12bit__monkey12.jpg", "12-bit JPEG"),
            ("good/jpeg-lossless__jpeg_lossless_sel1.jpg", "lossless JPEG"),
            ("good/png-cgbi__sample_fried.png", "CgBI PNG"), ("good/webp__hopper.webp", "WebP"),
        ] {
            #expect { try Self.decode(try Corpus.bytes(file)) } throws: { error in
                (error as? ImageError)?.code == "unsupported_format" && "\(error)".contains(reason)
            }
        }
    }
}

extension Array {
    fileprivate func chunked(_ size: Int) -> [ArraySlice<Element>] {
        Swift.stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }
}
