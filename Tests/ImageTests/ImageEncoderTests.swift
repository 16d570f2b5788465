import CImageCodecs
import TestSupport
import Testing

@testable import Larder

@Suite struct ImageEncoderTests {
    @Test func pngKeepsEveryPixel() throws {
        for hasAlpha in [true, false] {
            let bitmap = try ImageFixtures.bitmap(width: 37, height: 23, hasAlpha: hasAlpha)
            let decoded = try ImageDecoderTests.decode(try ImageEncoder.png(bitmap))
            #expect(decoded.packed == bitmap.packed && decoded.hasAlpha == hasAlpha)
        }
    }

    @Test func jpegComesClose() throws {
        let bitmap = try ImageFixtures.bitmap(width: 160, height: 120)
        for progressive in [false, true] {
            let bytes = try ImageEncoder.jpeg(bitmap, quality: 95, progressive: progressive)
            #expect(ThumbnailerTests.difference(try ImageDecoderTests.decode(bytes), bitmap) < 3)
            #expect(try bytes.withUnsafeBytes { try ImageDecoder.header(of: $0) }.isProgressive == progressive)
        }
        #expect(try ImageEncoder.jpeg(bitmap, quality: 10).count < ImageEncoder.jpeg(bitmap, quality: 90).count)
    }

    @Test func whatJPEGCannotHoldIsRefused() throws {
        let wide = try Bitmap(width: 66_000, height: 1, hasAlpha: false) { (pixels, _) throws(ImageError) in
            for index in 0..<pixels.count { pixels[index] = 0 }
        }
        #expect(ImageDecoderTests.code { try ImageEncoder.jpeg(wide) } == "too_large")
        #expect(try ImageEncoder.png(wide).count > 0)
    }

    @Test func versionsAreNamed() {
        #expect(String(cString: larder_jpeg_version()).contains("libjpeg"))
        #expect(String(cString: larder_png_version()).contains("libpng 1."))
    }
}
