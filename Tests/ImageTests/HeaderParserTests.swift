import TestSupport
import Testing

@testable import Larder

@Suite struct HeaderParserTests {
    /// A comment of many small blocks is looked at once, however its bytes come.
    @Test func whatHasBeenPassedOfAGIFIsNotLookedAtAgain() {
        var gif = Array("GIF89a".utf8) + [4, 0, 4, 0, 0, 0, 0, 0x21, 0xFE]
        for _ in 0..<1000 { gif += [1, 65] }
        var reader = GIFHeaderReader()
        _ = gif.withUnsafeBytes { bytes in
            #expect(throws: HeaderStop.self) { _ = try reader.read(ByteWindow(bytes), ImageLimits()) }
        }
        #expect(reader.position == gif.count)
    }

    /// The header or the error's code, and after how many bytes.
    static func parse(_ bytes: [UInt8], step: Int, limits: ImageLimits = ImageLimits()) -> (result: String, after: Int)
    {
        var parser = HeaderParser(limits: limits)
        var done = 0
        do throws(ImageError) {
            while done < bytes.count {
                let count = min(step, bytes.count - done)
                let progress = try feed(&parser, bytes[done..<done + count])
                done += count
                if case .header(let header) = progress { return ("\(header)", done) }
            }
            return ("\(try parser.finish())", done)
        } catch {
            return (error.code, done)
        }
    }

    static func feed(
        _ parser: inout HeaderParser, _ bytes: some Sequence<UInt8>
    ) throws(ImageError) -> HeaderParser.Progress {
        let bytes = Array(bytes)
        return try bytes.withUnsafeBytes { raw in Result { () throws(ImageError) in try parser.feed(raw) } }.get()
    }

    @Test(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.missing)), arguments: [1, 7, 1000])
    func piecesGiveWhatTheWholeGives(step: Int) throws {
        for record in Corpus.records where record.file.hasPrefix("good") || record.file.hasPrefix("bad") {
            // The header ends long before: enough to be sure, and quick.
            let bytes = Array(try Corpus.bytes(record.file).prefix(6_000 * step))
            #expect(Self.parse(bytes, step: step).result == Self.parse(bytes, step: .max).result, "\(record.file)")
        }
    }

    @Test(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.missing)))
    func noBeginningOfAFileCrashes() throws {
        for record in Corpus.records where !record.file.hasPrefix("photos") {
            let bytes = try Corpus.bytes(record.file)
            for count in stride(from: 0, to: min(bytes.count, 2048), by: 13) {
                let facts = bytes.prefix(count).withUnsafeBytes { ImageInspector.inspect($0, deep: true) }
                #expect(facts.bytes == count)
            }
        }
    }

    @Test(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.missing)))
    func noChangedByteCrashes() throws {
        var state: UInt64 = 42
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let limits = ImageLimits(maxPixels: 1 << 20, maxDecodeBytes: 32 << 20)
        for record in Corpus.records(in: "good") {
            let bytes = try Corpus.bytes(record.file)
            guard bytes.count < 40_000 else { continue }
            for _ in 0..<2 {
                var changed = bytes
                for _ in 0..<1 + next(4) { changed[next(min(changed.count, 600))] = UInt8(next(256)) }
                let facts = changed.withUnsafeBytes { ImageInspector.inspect($0, deep: true, limits: limits) }
                #expect(facts.bytes == changed.count)
            }
        }
    }

    @Test func theAnswerComesBeforeThePixels() throws {
        let jpeg = try ImageFixtures.jpeg(width: 640, height: 480, orientation: .right)
        let png = try ImageFixtures.png(width: 640, height: 480)
        #expect(Self.parse(jpeg, step: 1).after < 800)
        // Signature, IHDR and the head of the first IDAT.
        #expect(Self.parse(png, step: 1).after == 8 + 25 + 8)
    }

    @Test func orientationComesFromIFD0InBothByteOrders() throws {
        let jpeg = try ImageFixtures.jpeg(width: 16, height: 8)
        for value in UInt8(0)...9 {
            for bigEndian in [true, false] {
                let exif = Self.exif(value, bigEndian: bigEndian)
                let body = Array("Exif\0\0".utf8) + exif
                let changed = jpeg[..<20] + [0xFF, 0xE1, 0, UInt8(body.count + 2)] + body + jpeg[20...]
                let png = ImageFixtures.inserting("eXIf", exif, into: try ImageFixtures.png(width: 16, height: 8))
                for bytes in [Array(changed), png] {
                    let header = try bytes.withUnsafeBytes { try ImageDecoder.header(of: $0) }
                    #expect(header.orientation == Orientation(rawValue: value) ?? .up)
                    #expect(header.hasOrientation == (1...8 ~= value))
                    #expect(header.displayWidth == (value >= 5 && value <= 8 ? 8 : 16))
                }
            }
        }
    }

    static func exif(_ orientation: UInt8, bigEndian: Bool) -> [UInt8] {
        func short(_ value: UInt16) -> [UInt8] {
            let bytes = [UInt8(value >> 8), UInt8(value & 0xFF)]
            return bigEndian ? bytes : bytes.reversed()
        }
        func long(_ value: UInt16) -> [UInt8] { bigEndian ? [0, 0] + short(value) : short(value) + [0, 0] }
        return Array((bigEndian ? "MM" : "II").utf8) + short(42) + long(8) + short(1) + short(0x0112) + short(3)
            + long(1)
            + short(UInt16(orientation)) + [0, 0] + long(0)
    }

    @Test func brokenEXIFIsIgnored() throws {
        let jpeg = try ImageFixtures.jpeg(width: 16, height: 8)
        for exif: [UInt8] in [
            [], [0x4D], Array("MM\0\u{2A}".utf8) + [0xFF, 0xFF, 0xFF, 0xFF], Array(repeating: 0xFF, count: 60),
        ] {
            let body = Array("Exif\0\0".utf8) + exif
            let changed = Array(jpeg[..<20] + [0xFF, 0xE1, 0, UInt8(body.count + 2)] + body + jpeg[20...])
            let header = try changed.withUnsafeBytes { try ImageDecoder.header(of: $0) }
            #expect(!header.hasOrientation)
        }
    }

    @Test func limitsAreCheckedOnTheHeader() throws {
        let png = try ImageFixtures.png(width: 64, height: 32)
        #expect(Self.parse(png, step: 9, limits: ImageLimits(maxPixels: 64 * 32 - 1)).result == "too_large")
        #expect(Self.parse(png, step: 9, limits: ImageLimits(maxPixels: 64 * 32)).result.contains("width: 64"))
        // Refused with the frame header, long before the scan.
        let jpeg = try ImageFixtures.jpeg(width: 64, height: 32)
        let refused = Self.parse(jpeg, step: 1, limits: ImageLimits(maxPixels: 100))
        #expect(refused.result == "too_large")
        #expect(refused.after < Self.parse(jpeg, step: 1).after)
        let frames = ImageFixtures.inserting("acTL", [0, 0, 0x30, 0, 0, 0, 0, 0], into: png)
        #expect(Self.parse(frames, step: 9).result == "too_large")
    }

    @Test func metadataIsBounded() throws {
        let png = try ImageFixtures.png(width: 8, height: 8)
        let limits = ImageLimits(maxMetadataBytes: 10_000)
        // A profile that would have to be held is refused by its length alone.
        var large = ImageFixtures.inserting("iCCP", [UInt8](repeating: 1, count: 20_000), into: png)
        let refused = Self.parse(large, step: 100, limits: limits)
        #expect(refused.result == "too_large" && refused.after < 200)
        // Text is passed over, but not without end.
        large = ImageFixtures.inserting("tEXt", [UInt8](repeating: 65, count: 5_000), into: png)
        #expect(Self.parse(large, step: 100, limits: limits).result.contains("width: 8"))
        large = ImageFixtures.inserting("tEXt", [UInt8](repeating: 65, count: 12_000), into: png)
        #expect(Self.parse(large, step: 100, limits: limits).result == "too_large")
        let stray = [0xFF, 0xD8, 0xFF] + [UInt8](repeating: 0xFF, count: 20_000)
        #expect(Self.parse(stray, step: 100, limits: limits).result == "too_large")
    }

    @Test func endsAreTold() throws {
        let png = try ImageFixtures.png(width: 64, height: 64)
        #expect(Self.parse(Array(png.prefix(20)), step: 5).result == "truncated")
        #expect(Self.parse([], step: 5).result == "not_an_image")
        #expect(Self.parse([0xFF], step: 5).result == "not_an_image")
        var parser = HeaderParser()
        _ = try Self.feed(&parser, png.dropLast(40))
        #expect(throws: ImageError.self) { try parser.finish() }
        #expect(parser.leastLength ?? 0 > png.count - 40)
    }

    @Test func animationAndGammaAreReported() throws {
        let png = try ImageFixtures.png(width: 8, height: 8)
        let changed = ImageFixtures.inserting(
            "gAMA", [0, 0, 0xB1, 0x8F], into: ImageFixtures.inserting("acTL", [0, 0, 0, 7, 0, 0, 0, 0], into: png))
        let header = try changed.withUnsafeBytes { try ImageDecoder.header(of: $0) }
        #expect(header.frames == 7)
        #expect(header.gamma == 45455)
    }
}
