import TestSupport
import Testing

@testable import Larder

@Suite struct OrientationTests {
    /// The upright picture: A B / C D / E F.
    private static let upright: [UInt32] = [1, 2, 3, 4, 5, 6]
    private static let stored: [Orientation: (width: Int, pixels: [UInt32])] = [
        .up: (2, [1, 2, 3, 4, 5, 6]), .upMirrored: (2, [2, 1, 4, 3, 6, 5]), .down: (2, [6, 5, 4, 3, 2, 1]),
        .downMirrored: (2, [5, 6, 3, 4, 1, 2]), .leftMirrored: (3, [1, 3, 5, 2, 4, 6]),
        .right: (3, [2, 4, 6, 1, 3, 5]),
        .rightMirrored: (3, [6, 4, 2, 5, 3, 1]), .left: (3, [5, 3, 1, 6, 4, 2]),
    ]

    @Test(arguments: Orientation.allCases)
    func pixelsAreSetUpright(orientation: Orientation) throws {
        let (width, pixels) = try #require(Self.stored[orientation])
        let bitmap = try Bitmap(width: width, height: 6 / width, hasAlpha: false) { (target, _) throws(ImageError) in
            for (index, pixel) in pixels.enumerated() {
                target.storeBytes(of: pixel, toByteOffset: 4 * index, as: UInt32.self)
            }
        }
        let turned = try bitmap.oriented(orientation)
        #expect(turned.width == 2 && turned.height == 3)
        let found = turned.withPixels { bytes in
            (0..<6).map { bytes.loadUnaligned(fromByteOffset: 4 * $0, as: UInt32.self) }
        }
        #expect(found == Self.upright)
    }

    /// Doing one after the other is what `then` says, checked on pixels.
    @Test func composition() throws {
        let bitmap = try ImageFixtures.bitmap(width: 5, height: 3)
        for first in Orientation.allCases {
            for second in Orientation.allCases {
                let both = try bitmap.oriented(first).oriented(second)
                let once = try bitmap.oriented(first.then(second))
                #expect(both.width == once.width && both.packed == once.packed, "\(first) then \(second)")
            }
        }
    }

    @Test func largePicturesAreTurnedWholly() throws {
        let bitmap = try ImageFixtures.bitmap(width: 131, height: 77)
        let turned = try bitmap.oriented(.right)
        for (x, y) in [(0, 0), (130, 0), (0, 76), (130, 76), (64, 33)] {
            #expect(turned.pixel(76 - y, x) == bitmap.pixel(x, y))
        }
    }
}
