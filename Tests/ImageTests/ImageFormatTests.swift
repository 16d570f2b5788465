import TestSupport
import Testing

@testable import Larder

@Suite struct ImageFormatTests {
    @Test func formatsAreToldByTheirBytes() throws {
        #expect(ImageFormat.detect([0xFF, 0xD8, 0xFF, 0xE0]) == .jpeg)
        #expect(ImageFormat.detect([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) == .png)
        #expect(ImageFormat.detect(Array("GIF89a".utf8)) == .gif)
        #expect(ImageFormat.detect(Array("RIFF....WEBPVP8 ".utf8)) == .webp)
        #expect(ImageFormat.detect([0, 0, 0, 20] + Array("ftypmif1....avif".utf8)) == .avif)
        #expect(ImageFormat.detect([0, 0, 0, 20] + Array("ftypmif1....miaf".utf8)) == .heic)
        #expect(ImageFormat.detect([0, 0, 0, 16] + Array("ftypheic....".utf8)) == .heic)
        #expect(ImageFormat.detect([0, 0, 0, 16] + Array("ftypisom....".utf8)) == nil)
        #expect(ImageFormat.detect([0xFF, 0x0A]) == .jxl)
        #expect(ImageFormat.detect(Array("BM".utf8) + [UInt8](repeating: 0, count: 12) + [40, 0, 0, 0]) == .bmp)
        #expect(ImageFormat.detect(Array("BM".utf8) + [UInt8](repeating: 0, count: 16)) == nil)
        #expect(ImageFormat.detect([0x49, 0x49, 0x2A, 0x00]) == .tiff)
        #expect(ImageFormat.detect(Array("\u{FEFF}<?xml version='1.0'?><!-- a --><svg xmlns='x'/>".utf8)) == .svg)
        #expect(ImageFormat.detect(Array("<!DOCTYPE svg [<!ENTITY a 'b>c'>]><svg:svg x='y'>".utf8)) == .svg)
        #expect(ImageFormat.detect(Array("<!DOCTYPE html><html>".utf8)) == nil)
        #expect(ImageFormat.detect([]) == nil)
    }

    @Test func shortPrefixesAreUndecidedOnlyWhileTheyCanBecomeAnImage() {
        func sniff(_ bytes: [UInt8]) -> FormatSniffer.Answer { bytes.withUnsafeBytes { FormatSniffer.sniff($0) } }
        for bytes: [UInt8] in [
            [], [0xFF], [0xFF, 0xD8], [0x89, 0x50], Array("RIFF".utf8), [0xEF, 0xBB], Array("<sv".utf8),
        ] {
            #expect(sniff(bytes) == .undecided, "\(bytes)")
        }
        guard case .none(let page) = sniff(Array("<!doctype html><p>".utf8)) else { return #expect(Bool(false)) }
        #expect(page.contains("HTML"))
        guard case .none(let json) = sniff(Array("{\"error\":1}".utf8)) else { return #expect(Bool(false)) }
        #expect(json.contains("JSON"))
        guard case .none(let gzip) = sniff([0x1F, 0x8B, 8]) else { return #expect(Bool(false)) }
        #expect(gzip.contains("gzip"))
    }

    @Test func contentTypesNameFormatsAndBack() {
        for format in ImageFormat.allCases { #expect(ImageFormat(contentType: format.contentType) == format) }
        #expect(ImageFormat(contentType: "Image/JPEG; charset=binary") == .jpeg)
        #expect(ImageFormat(contentType: "image/jpg") == .jpeg)
        #expect(ImageFormat(contentType: "text/html") == nil)
        #expect(ImageFormat.jpeg.fileExtension == "jpg")
        #expect(ImageFormat.tiff.fileExtension == "tif")
    }
}
