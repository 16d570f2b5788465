import TestSupport
import Testing

@testable import Larder

/// Headers made by hand, for what the corpus does not hold.
@Suite struct FormatReaderTests {
    private static func header(_ bytes: [UInt8]) throws -> ImageHeader {
        try bytes.withUnsafeBytes { try ImageDecoder.header(of: $0) }
    }

    private static func code(_ bytes: [UInt8]) -> String? { ImageDecoderTests.code { try header(bytes) } }

    @Test(arguments: [
        ("<svg width='10' height='20'/>", 10, 20), ("<svg width='1in' height='25.4mm'/>", 96, 96),
        ("<svg viewBox='0 0 30 40'></svg>", 30, 40), ("<svg viewBox='0,0,30,60' width='15'/>", 15, 30),
        ("<svg width='100%' height='50%'/>", 0, 0), ("<svg/>", 0, 0), ("<svg width='1e30' height='nan'/>", 0, 0),
        ("<?xml version='1.0'?>\n<!-- <svg width='1'> -->\n<s:svg xmlns:s='x' width='7px' height='8'>", 7, 8),
    ])
    func svg(text: String, width: Int, height: Int) throws {
        let header = try Self.header(Array(text.utf8))
        #expect(header.width == width && header.height == height && header.format == .svg)
    }

    @Test func hostileSVG() {
        #expect(Self.code(Array("<svg width='1000000' height='1000000'/>".utf8)) == "too_large")
        #expect(Self.code(Array("<!DOCTYPE svg [<!ENTITY a '&b;&b;'>]><svg/>".utf8)) == "corrupt")
        #expect(Self.code(Array("<!DOCTYPE svg [<!ENTITY a 'harmless'>]><svg/>".utf8)) == nil)
        #expect(Self.code(Array("<!DOCTYPE svg [<!ENTITY a 'b &amp; &lt; &#33;'>]><svg/>".utf8)) == nil)
        #expect(Self.code(Array("<!DOCTYPE svg [<!ENTITY a '&ampb;'>]><svg/>".utf8)) == "corrupt")
        #expect(Self.code(Array("<!DOCTYPE svg [<!-- it's --><?a \"b?><!ENTITY a 'b'>]><svg/>".utf8)) == nil)
        #expect(Self.code(Array("<svg width=10>".utf8)) == "corrupt")
        #expect(Self.code(Array("<svg ".utf8) + [UInt8](repeating: 0x20, count: 70_000)) == "corrupt")
        #expect(Self.code(Array("<svg width='10".utf8)) == "truncated")
    }

    @Test(
        arguments: [
            ("<svg></svg>", nil), ("<svg></svg\n>", nil), ("<svg/>", nil), ("<a:svg></a:svg> <!-- </b> -->", nil),
            ("<svg></svg><!-- \(String(repeating: "long ", count: 400)) -->\n", nil), ("<svg></svg", "truncated"),
            ("<svg><g></g>", "truncated"), ("<svg></svgs>", "truncated"), ("<svg a='</svg>'>", "truncated"),
        ] as [(String, String?)])
    func svgEndsWithItsEndTag(text: String, code: String?) {
        #expect(Array(text.utf8).withUnsafeBytes { ImageInspector.inspect($0) }.error?.code == code)
    }

    @Test func bmpHeightsMayBeNegative() throws {
        var bytes = Array("BM".utf8) + [UInt8](repeating: 0, count: 52)
        bytes.replaceSubrange(10..<14, with: [54, 0, 0, 0])
        bytes.replaceSubrange(14..<30, with: [40, 0, 0, 0, 2, 0, 0, 0, 0xFD, 0xFF, 0xFF, 0xFF, 1, 0, 24, 0])
        #expect(Self.code(bytes) == nil)
        #expect(try Self.header(bytes + [UInt8](repeating: 0, count: 24)).height == 3)
        // The rows that the header speaks of are not there.
        #expect(bytes.withUnsafeBytes { ImageInspector.inspect($0) }.error?.code == "truncated")
        bytes.replaceSubrange(22..<26, with: [0, 0, 0, 0x80])
        #expect(Self.code(bytes) == "too_large")
        bytes.replaceSubrange(18..<22, with: [0, 0, 0, 0x80])
        #expect(Self.code(bytes) == "corrupt")
    }

    @Test func jxlSizes() throws {
        // Small: 1, (height / 8 - 1) in 5 bits, ratio 1:1 in 3; then all default.
        let small: UInt16 = 1 | 3 << 1 | 1 << 6 | 1 << 9
        let header = try Self.header([0xFF, 0x0A, UInt8(small & 0xFF), UInt8(small >> 8), 0, 0, 0, 0])
        #expect(header.width == 32 && header.height == 32)
    }

    @Test func webpSizes() throws {
        func file(_ name: String, _ data: [UInt8]) -> [UInt8] {
            let body = Array("WEBP".utf8) + Array(name.utf8) + [UInt8(data.count), 0, 0, 0] + data
            return Array("RIFF".utf8) + [UInt8(body.count), 0, 0, 0] + body
        }
        let lossy = file("VP8 ", [0, 0, 0, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x40])
        #expect(try Self.header(lossy).width == 320 && Self.header(lossy).height == 240)
        let bits = UInt32(319) | UInt32(239) << 14 | 1 << 28
        let lossless = file("VP8L", [0x2F] + (0..<4).map { UInt8(bits >> (8 * $0) & 0xFF) } + [0])
        let header = try Self.header(lossless)
        #expect(header.width == 320 && header.height == 240 && header.hasAlpha)
        #expect(Self.code(file("VP8 ", [UInt8](repeating: 0, count: 10))) == "corrupt")
        #expect(lossy.dropLast(1).withUnsafeBytes { ImageInspector.inspect($0) }.error?.code == "truncated")
    }

    @Test func heifTransformsMakeTheOrientation() throws {
        func box(_ type: String, _ data: [UInt8]) -> [UInt8] {
            [0, 0, 0, UInt8(data.count + 8)] + Array(type.utf8) + data
        }
        func file(_ properties: [[UInt8]]) -> [UInt8] {
            let size = box("ispe", [0, 0, 0, 0, 0, 0, 0, 40, 0, 0, 0, 30])
            let all = [size] + properties
            let association: [UInt8] =
                [0, 0, 0, 0, 0, 0, 0, 1, 0, 1, UInt8(all.count)] + (1...all.count).map { UInt8($0) }
            let meta =
                [0, 0, 0, 0] + box("pitm", [0, 0, 0, 0, 0, 1])
                + box("iprp", box("ipco", all.flatMap { $0 }) + box("ipma", association))
            return box("ftyp", Array("avif".utf8) + [0, 0, 0, 0]) + box("meta", meta)
        }
        let cases: [(irot: UInt8?, imir: UInt8?, Orientation)] = [
            (nil, nil, .up), (1, nil, .left), (2, nil, .down), (3, nil, .right), (nil, 1, .upMirrored),
            (nil, 0, .downMirrored), (1, 0, .leftMirrored), (1, 1, .rightMirrored), (3, 0, .rightMirrored),
            (3, 1, .leftMirrored),
        ]
        for (irot, imir, expected) in cases {
            let properties = [irot.map { box("irot", [$0]) }, imir.map { box("imir", [$0]) }].compactMap { $0 }
            let header = try Self.header(file(properties))
            #expect(header.orientation == expected, "irot \(irot ?? 9) imir \(imir ?? 9)")
            #expect(header.width == 40 && header.height == 30)
        }
    }

    @Test func tiffDirectoriesMayStandAtTheEnd() throws {
        func entry(_ tag: UInt8, _ value: UInt8) -> [UInt8] { [0, tag, 0, 3, 0, 0, 0, 1, 0, value, 0, 0] }
        let directory: [UInt8] =
            [0, 3] + [1, 0, 0, 3, 0, 0, 0, 1, 0, 50, 0, 0] + [1, 1, 0, 3, 0, 0, 0, 1, 0, 60, 0, 0]
            + [1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0]
        let gap = [UInt8](repeating: 7, count: 40_000)
        let bytes = [0x4D, 0x4D, 0, 42, 0, 0, 0x9C, 0x48] + gap + directory
        // What lies between is passed over, not held.
        let found = HeaderParserTests.parse(bytes, step: 1000, limits: ImageLimits(maxMetadataBytes: 1000))
        #expect(found.result.contains("width: 50") && found.result.contains("height: 60"))
        #expect(try Self.header(bytes).orientation == .right)
    }
}
