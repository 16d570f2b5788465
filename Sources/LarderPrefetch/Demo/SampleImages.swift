import Foundation
import Larder

/// Makes pictures to try Larder with: no two alike, the same on every machine, in the kinds that the web has.
package enum SampleImages {
    /// Writes `count` files into `directory`, which is created where it is missing.
    ///
    /// Among them are baseline and progressive JPEG, JPEG with an EXIF orientation, and PNG with alpha.
    /// - Parameter reduction: how many times smaller each side is; for tests.
    /// - Returns: their names, in order.
    @discardableResult
    package static func write(to directory: String, count: Int, reduction: Int = 1) throws -> [String] {
        let folder = URL(fileURLWithPath: directory, isDirectory: true)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        var names: [String] = []
        for index in 0..<count {
            let (name, bytes) = try picture(index, reduction: reduction)
            try Data(bytes).write(to: folder.appendingPathComponent(name))
            names.append(name)
        }
        return names
    }

    /// One file: its name and its bytes.
    package static func picture(
        _ index: Int, reduction: Int = 1
    ) throws(ImageError) -> (name: String, bytes: [UInt8]) {
        // As many sizes as scenes: moved on by one each round, so that every scene comes in every size.
        let size = sizes[(index + index / sizes.count) % sizes.count]
        let (width, height) = (size.width / reduction, size.height / reduction)
        let scene = SampleScene.allCases[index % SampleScene.allCases.count]
        let painting = scene.painting(seed: UInt64(index))
        let number = String(index + 1)
        let name = String(repeating: "0", count: max(0, 3 - number.count)) + number + "-" + scene.rawValue
        if scene.isTranslucent {
            return (name + ".png", try ImageEncoder.png(paint(width, height, hasAlpha: true, painting)))
        }
        // As a telephone held upright stores them: lying, with a note that says how to turn them.
        let orientation: Orientation = index % 5 == 2 ? .right : .up
        let upright = try paint(width, height, hasAlpha: false, painting)
        let stored = try orientation == .right ? upright.oriented(.left) : upright
        let bytes = try ImageEncoder.jpeg(
            stored, quality: 88, progressive: index % 2 == 1, orientation: orientation)
        return (name + ".jpg", bytes)
    }

    private static let sizes = [
        (width: 1200, height: 800), (width: 800, height: 1000), (width: 1024, height: 1024), (width: 1280, height: 720),
        (width: 640, height: 960), (width: 900, height: 600), (width: 720, height: 720),
    ]

    /// Calls `painting` for each pixel, with the shorter side running from -1 to 1 and the y axis pointing down.
    private static func paint(
        _ width: Int, _ height: Int, hasAlpha: Bool, _ painting: (SIMD2<Float>) -> SIMD4<Float>
    ) throws(ImageError) -> Bitmap {
        try Bitmap(width: width, height: height, hasAlpha: hasAlpha) { (pixels, stride) throws(ImageError) in
            let half = Float(min(width, height)) / 2
            for y in 0..<height {
                for x in 0..<width {
                    let point = SIMD2(
                        (Float(x) + 0.5 - Float(width) / 2) / half, (Float(y) + 0.5 - Float(height) / 2) / half)
                    let color = (painting(point).clamped(lowerBound: .zero, upperBound: .one) * Float(255)).rounded(
                        .toNearestOrEven)
                    let place = y * stride + 4 * x
                    for channel in 0..<4 { pixels[place + channel] = UInt8(exactly: color[channel]) ?? 0 }
                }
            }
        }
    }
}
