import Foundation
import Larder
import Measuring

// What a placeholder costs beside the thumbnail that it is made of: a JPEG of 1,600 x 1,200 pixels, a thumbnail of 256,
// its ThumbHash and dominant colour, and the picture that a list shows of the hash. The best of twenty turns each.

let picture = try Bitmap(width: 1600, height: 1200, hasAlpha: false) { pixels, stride in
    var random = SeededRandom(seed: 1)
    for y in 0..<1200 {
        for x in 0..<1600 {
            let at = y * stride + 4 * x
            let noise = Int(random.next() & 15)
            pixels[at] = UInt8((x * 200 / 1600 + noise) & 255)
            pixels[at + 1] = UInt8((y * 200 / 1200 + noise) & 255)
            pixels[at + 2] = UInt8(((x ^ y) & 63) + noise)
            pixels[at + 3] = 255
        }
    }
}
let jpeg = try ImageEncoder.jpeg(picture)
guard let size = ThumbnailSize("256x256") else { exit(2) }
let thumbnail = try jpeg.withUnsafeBytes { try Thumbnailer.make($0, sizes: [size]) }[0].bitmap
let hash = ThumbHash(thumbnail)

func milliseconds(_ body: () throws -> Void) rethrows -> Double {
    var best = Double.infinity
    for _ in 0..<20 {
        let start = DispatchTime.now().uptimeNanoseconds
        try body()
        best = min(best, Double(DispatchTime.now().uptimeNanoseconds - start) / 1e6)
    }
    return best
}

var table = Table(["what", "ms"])
let steps: [(String, () throws -> Void)] = [
    ("decode and make the thumbnail", { _ = try jpeg.withUnsafeBytes { try Thumbnailer.make($0, sizes: [size]) } }),
    ("ThumbHash of the thumbnail", { _ = ThumbHash(thumbnail) }),
    ("its dominant colour", { _ = thumbnail.dominantColor }),
    ("the picture of the hash", { _ = try hash.bitmap() }),
]
for (name, body) in steps { table.add([name, String(format: "%.3f", try milliseconds(body))]) }
print(table.text)
