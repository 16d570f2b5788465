import TestSupport
import Testing

@testable import Larder

@Suite struct ProgressivePreviewTests {
    /// Fed in pieces, as from the network.
    private func previews(of bytes: [UInt8], step: Int = 1_000, most: Int = 3) throws -> [(at: Int, bitmap: Bitmap)] {
        let header = try bytes.withUnsafeBytes { (all) throws(ImageError) in try ImageDecoder.header(of: all) }
        var preview = ProgressivePreview(header: header, most: most)
        var made: [(Int, Bitmap)] = []
        for count in stride(from: step, through: bytes.count, by: step) {
            // A copy of just what has come: a look behind it is found out.
            let prefix = Array(bytes[..<count])
            prefix.withUnsafeBytes { part in
                if preview.isDue(part), let bitmap = preview.make(part) { made.append((count, bitmap)) }
            }
        }
        return made
    }

    private func progressiveJPEG() throws -> [UInt8] {
        try ImageEncoder.jpeg(try scene(400, 300), quality: 90, progressive: true)
    }

    @Test func aProgressiveJPEGGetsBetterWithEachPreview() throws {
        let bytes = try progressiveJPEG()
        let whole = try bytes.withUnsafeBytes { (all) throws(ImageError) in try ImageDecoder.decode(all) }
        let made = try previews(of: bytes)
        #expect((2...3).contains(made.count))
        let distances = made.map { distance($0.bitmap, whole) }
        #expect(distances == distances.sorted(by: >), "\(distances)")
        #expect(try #require(distances.first) < 40)
        #expect(made.allSatisfy { $0.bitmap.width == 400 && $0.bitmap.height == 300 })
        // Each from at least twice as much.
        for (one, next) in zip(made, made.dropFirst()) { #expect(next.at + 1_000 >= 2 * (one.at - 1_000)) }
        #expect(try previews(of: bytes, most: 1).count == 1)
        #expect(try previews(of: bytes, most: 0).isEmpty)
    }

    @Test func onlyWholeScansAreShown() throws {
        let bytes = try progressiveJPEG()
        let made = try previews(of: bytes)
        // The first scan has colour down to the last row: nothing is grey for want of data.
        let first = try #require(made.first).bitmap
        let whole = try bytes.withUnsafeBytes { (all) throws(ImageError) in try ImageDecoder.decode(all) }
        #expect(distance(first, whole, rows: 280..<300) < 40)
    }

    @Test func anInterlacedPNGGetsBetterWithEachPreview() throws {
        let whole = try scene(256, 200)
        let bytes = InterlacedPNG.encode(whole)
        let made = try previews(of: bytes)
        #expect((2...3).contains(made.count))
        let distances = made.map { distance($0.bitmap, whole) }
        #expect(distances == distances.sorted(by: >), "\(distances)")
        #expect(try #require(distances.first) < 40)
        // Whatever has not come is filled from what has.
        let first = try #require(made.first).bitmap
        #expect(
            first.withPixels { pixels in stride(from: 3, to: pixels.count, by: 4).allSatisfy { pixels[$0] == 255 } })
    }

    @Test func whatIsNotProgressiveHasNone() throws {
        let image = try scene(200, 200)
        #expect(try previews(of: ImageEncoder.jpeg(image, quality: 95)).isEmpty)
        #expect(try previews(of: ImageEncoder.png(image)).isEmpty)
    }

    @Test func damageEndsThePreviewsAndNothingElse() throws {
        var bytes = try progressiveJPEG()
        for index in stride(from: 700, to: bytes.count, by: 97) { bytes[index] = UInt8(index & 255) }
        _ = try previews(of: bytes)
        var image = InterlacedPNG.encode(try scene(256, 200))
        for index in stride(from: 300, to: image.count, by: 997) { image[index] ^= 0x5A }
        _ = try previews(of: image)
    }

    @Test func aPreviewStandsUpright() throws {
        let bytes = try progressiveJPEG()
        var header = try bytes.withUnsafeBytes { (all) throws(ImageError) in try ImageDecoder.header(of: all) }
        header.orientation = .right
        var preview = ProgressivePreview(header: header)
        let bitmap = bytes.withUnsafeBytes { preview.make($0) }
        #expect(bitmap?.width == 300 && bitmap?.height == 400)
    }

    @Test func scansAreFoundHoweverTheBytesArrive() throws {
        let bytes = try progressiveJPEG()
        var once = ScanCounter()
        bytes.withUnsafeBytes { once.advance($0) }
        #expect(once.scans >= 5)
        var slowly = ScanCounter()
        for count in 0...bytes.count { bytes[..<count].withUnsafeBytes { slowly.advance($0) } }
        #expect(slowly.scans == once.scans && slowly.end == once.end)
        // The last scan ends at the end-of-image marker.
        #expect(bytes[once.end...].starts(with: [0xFF, 0xD9]))
    }

    @Test(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.missing)))
    func everyFileOfTheCorpusIsSurvived() throws {
        for record in Corpus.records where ["jpeg", "png"].contains(record.format) {
            let bytes = try Corpus.bytes(record.file)
            guard bytes.count < 600_000 else { continue }
            _ = try? previews(of: bytes, step: max(512, bytes.count / 16))
        }
    }
}

/// Soft colours, with an edge and some detail.
private func scene(_ width: Int, _ height: Int) throws -> Bitmap {
    try Bitmap(width: width, height: height, hasAlpha: false) { pixels, stride in
        for y in 0..<height {
            for x in 0..<width {
                let at = y * stride + 4 * x
                let detail = (x * 7 + y * 13) % 31
                pixels[at] = UInt8(min(255, 255 * x / width + (x > width / 2 ? 0 : detail)))
                pixels[at + 1] = UInt8(min(255, 220 * y / height + detail))
                pixels[at + 2] = x > width / 3 ? 60 : 200
                pixels[at + 3] = 255
            }
        }
    }
}

/// The mean difference of a channel.
private func distance(_ left: Bitmap, _ right: Bitmap, rows: Range<Int>? = nil) -> Double {
    let rows = rows ?? 0..<right.height
    return left.withPixels { one in
        right.withPixels { other in
            var sum = 0
            for index in rows.lowerBound * right.stride..<rows.upperBound * right.stride {
                sum += abs(Int(one[index]) - Int(other[index]))
            }
            return Double(sum) / Double(rows.count * right.stride)
        }
    }
}

/// Writes a PNG in the seven passes of Adam7, without compression (stored blocks), which our encoder does not.
private enum InterlacedPNG {
    static func encode(_ bitmap: Bitmap) -> [UInt8] {
        let passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
        var raw: [UInt8] = []
        bitmap.withPixels { pixels in
            for (left, top, across, down) in passes where left < bitmap.width {
                for y in stride(from: top, to: bitmap.height, by: down) {
                    raw.append(0)
                    for x in stride(from: left, to: bitmap.width, by: across) {
                        raw.append(contentsOf: pixels[y * bitmap.stride + 4 * x..<y * bitmap.stride + 4 * x + 3])
                    }
                }
            }
        }
        var stream: [UInt8] = [0x78, 0x01]
        var sums: (UInt32, UInt32) = (1, 0)
        for start in stride(from: 0, to: raw.count, by: 65_535) {
            let block = raw[start..<min(start + 65_535, raw.count)]
            let count = UInt16(block.count)
            stream.append(block.endIndex == raw.count ? 1 : 0)
            stream += [UInt8(count & 255), UInt8(count >> 8), UInt8(~count & 255), UInt8(~count >> 8)]
            stream += block
            for byte in block {
                sums.0 = (sums.0 + UInt32(byte)) % 65_521
                sums.1 = (sums.1 + sums.0) % 65_521
            }
        }
        stream += big(sums.1 << 16 | sums.0)
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        file += chunk("IHDR", big(UInt32(bitmap.width)) + big(UInt32(bitmap.height)) + [8, 2, 0, 0, 1])
        for start in stride(from: 0, to: stream.count, by: 8_192) {
            file += chunk("IDAT", Array(stream[start..<min(start + 8_192, stream.count)]))
        }
        return file + chunk("IEND", [])
    }

    private static func big(_ word: UInt32) -> [UInt8] { withUnsafeBytes(of: word.bigEndian) { Array($0) } }

    private static func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
        let content = Array(name.utf8) + body
        var sum: UInt32 = ~0
        for byte in content {
            sum ^= UInt32(byte)
            for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
        }
        return big(UInt32(body.count)) + content + big(~sum)
    }
}
