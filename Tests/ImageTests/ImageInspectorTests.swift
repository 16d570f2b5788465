import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite struct ImageInspectorTests {
    private static func file(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("larder-\(UUID().uuidString)")
        try Data(bytes).write(to: place)
        defer { try? FileManager.default.removeItem(at: place) }
        try body(place.path)
    }

    @Test func factsOfAFile() throws {
        let jpeg = try ImageFixtures.jpeg(width: 300, height: 200, orientation: .left, progressive: true)
        try Self.file(jpeg) { path in
            for deep in [false, true] {
                let facts = ImageInspector.inspect(path: path, deep: deep)
                #expect(facts.isValid && facts.format == .jpeg && facts.bytes == jpeg.count)
                #expect(facts.orientation == 8)
                #expect(facts.header?.width == 300 && facts.header?.isProgressive == true)
                #expect(facts.header?.color == .ycbcr && facts.header?.bitDepth == 8)
            }
        }
    }

    @Test func onlyADeepLookSeesMissingPixels() throws {
        let jpeg = try ImageFixtures.jpeg(width: 300, height: 200)
        try Self.file(Array(jpeg.prefix(jpeg.count / 2))) { path in
            #expect(ImageInspector.inspect(path: path).isValid)
            let facts = ImageInspector.inspect(path: path, deep: true)
            #expect(facts.error?.code == "truncated")
            // What is known is told all the same.
            #expect(facts.header?.width == 300 && facts.format == .jpeg)
        }
    }

    @Test func limitsHoldForADeepLook() throws {
        let png = try ImageFixtures.png(width: 100, height: 100)
        try Self.file(png) { path in
            let facts = ImageInspector.inspect(path: path, deep: true, limits: ImageLimits(maxPixels: 9_999))
            #expect(facts.error?.code == "too_large" && facts.format == .png)
        }
    }

    @Test func whatIsNoImageSaysWhatItIs() throws {
        try Self.file(Array("<!DOCTYPE html><title>404</title>".utf8)) { path in
            let facts = ImageInspector.inspect(path: path)
            #expect(facts.error?.code == "not_an_image" && facts.format == nil)
            #expect(facts.error?.details.detail.contains("HTML") == true)
        }
    }

    @Test func aFileThatCannotBeReadSaysWhy() {
        let facts = ImageInspector.inspect(path: "/nowhere/at/all.jpg")
        #expect(facts.error?.code == "unreachable")
        #expect(facts.error?.details.detail.contains("No such file") == true)
        #expect(facts.error?.isRetryable == false)
        #expect(!ImageInspector.inspect(path: "/").isValid)
    }
}
