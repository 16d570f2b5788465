import Foundation

/// A picture in about 25 bytes: what to show while the picture itself is on its way.
///
/// The published ThumbHash format (evanw.github.io/thumbhash): average colour, approximate aspect ratio and the
/// lowest frequencies of luminance, two colour differences and alpha, 4 bits each. Hashes are exchanged with every
/// other implementation.
public struct ThumbHash: Sendable, Hashable {
    /// The hash itself, 5 to 35 bytes.
    public let bytes: [UInt8]

    /// A hash from elsewhere; nil where the bytes are none.
    public init?(bytes: [UInt8]) {
        guard let layout = Layout(bytes), bytes.count == layout.byteCount else { return nil }
        self.bytes = bytes
    }

    /// A hash in base64, the form in which it is stored and reported; nil where it is none.
    public init?(base64: String) {
        guard base64.utf8.count <= 64, let data = Data(base64Encoded: base64) else { return nil }
        self.init(bytes: Array(data))
    }

    init(encoded bytes: [UInt8]) { self.bytes = bytes }

    /// The form in which it is stored and reported.
    public var base64: String { Data(bytes).base64EncodedString() }

    /// The mean colour of the whole picture.
    public var averageColor: ImageColor {
        guard let layout = Layout(bytes) else { return ImageColor(red: 0, green: 0, blue: 0, alpha: 0) }
        let color = rgb(layout.luminance, layout.first, layout.second)
        return ImageColor(
            red: level(color.red), green: level(color.green), blue: level(color.blue), alpha: level(layout.alpha))
    }

    /// Width over height, roughly: there are few values to choose from.
    public var aspectRatio: Double {
        guard let layout = Layout(bytes) else { return 1 }
        return Double(layout.horizontal) / Double(layout.vertical)
    }

    /// The picture as far as the hash remembers it, 32 pixels on its longer side.
    public func bitmap() throws(ImageError) -> Bitmap {
        guard let layout = Layout(bytes) else { throw .corrupt(.init("not a ThumbHash")) }
        var nibbles = Nibbles(bytes: bytes, at: 2 * layout.headerBytes)
        let luminance = Channel(
            layout.luminance, scale: layout.luminanceScale, max(3, layout.horizontal), max(3, layout.vertical), &nibbles
        )
        // Saturation is raised a little, since rounding takes some away: the format says so.
        let first = Channel(layout.first, scale: 1.25 * layout.firstScale, 3, 3, &nibbles)
        let second = Channel(layout.second, scale: 1.25 * layout.secondScale, 3, 3, &nibbles)
        let alpha =
            layout.hasAlpha
            ? Channel(layout.alpha, scale: layout.alphaScale, 5, 5, &nibbles) : Channel(constant: 1)

        let ratio = aspectRatio
        let width = Int((ratio > 1 ? 32 : 32 * ratio).rounded())
        let height = Int((ratio > 1 ? 32 / ratio : 32).rounded())
        let columns = waves(width)
        let rows = waves(height)
        return try Bitmap(width: width, height: height, hasAlpha: layout.hasAlpha) { pixels, stride in
            for y in 0..<height {
                for x in 0..<width {
                    let (across, down) = (columns[x], rows[y])
                    let color = rgb(luminance.at(across, down), first.at(across, down), second.at(across, down))
                    let at = y * stride + 4 * x
                    pixels[at] = level(color.red)
                    pixels[at + 1] = level(color.green)
                    pixels[at + 2] = level(color.blue)
                    pixels[at + 3] = level(alpha.at(across, down))
                }
            }
        }
    }

    /// The header's fields.
    struct Layout {
        let luminance, first, second, alpha: Double
        let luminanceScale, firstScale, secondScale, alphaScale: Double
        let hasAlpha: Bool
        /// Frequencies of luminance across and down.
        let horizontal, vertical: Int

        init?(_ bytes: [UInt8]) {
            guard bytes.count >= 5 else { return nil }
            let colors = Int(bytes[0]) | Int(bytes[1]) << 8 | Int(bytes[2]) << 16
            let shape = Int(bytes[3]) | Int(bytes[4]) << 8
            luminance = Double(colors & 63) / 63
            first = Double(colors >> 6 & 63) / 31.5 - 1
            second = Double(colors >> 12 & 63) / 31.5 - 1
            luminanceScale = Double(colors >> 18 & 31) / 31
            hasAlpha = colors >> 23 != 0
            firstScale = Double(shape >> 3 & 63) / 63
            secondScale = Double(shape >> 9 & 63) / 63
            guard !hasAlpha || bytes.count >= 6 else { return nil }
            alpha = hasAlpha ? Double(bytes[5] & 15) / 15 : 1
            alphaScale = hasAlpha ? Double(bytes[5] >> 4) / 15 : 0
            let (longer, shorter) = (hasAlpha ? 5 : 7, shape & 7)
            guard shorter > 0, shorter <= longer else { return nil }
            let isLandscape = shape >> 15 != 0
            horizontal = isLandscape ? longer : shorter
            vertical = isLandscape ? shorter : longer
        }

        var headerBytes: Int { hasAlpha ? 6 : 5 }

        var byteCount: Int {
            let factors =
                Frequencies(max(3, horizontal), max(3, vertical)).count + 2 * Frequencies(3, 3).count
                + (hasAlpha ? Frequencies(5, 5).count : 0)
            return headerBytes + (factors + 1) / 2
        }
    }

    /// The pairs of frequencies that are kept, lowest first and without the constant: a triangle.
    struct Frequencies {
        let pairs: [(across: Int, down: Int)]
        var count: Int { pairs.count }

        init(_ width: Int, _ height: Int) {
            pairs = (0..<height).flatMap { down in
                (0..<width).filter { $0 * height < width * (height - down) && ($0 > 0 || down > 0) }
                    .map { (across: $0, down: down) }
            }
        }
    }

    private struct Nibbles {
        let bytes: [UInt8]
        var at: Int

        /// From -1 to 1. Past the end, which the length that was checked rules out: 0.
        mutating func next() -> Double {
            defer { at += 1 }
            guard at / 2 < bytes.count else { return 0 }
            return Double(bytes[at / 2] >> (at % 2 == 0 ? 0 : 4) & 15) / 7.5 - 1
        }
    }

    private struct Channel {
        private let constant: Double
        private var waves: [(across: Int, down: Int, factor: Double)] = []

        init(constant: Double) { self.constant = constant }

        init(_ constant: Double, scale: Double, _ width: Int, _ height: Int, _ nibbles: inout Nibbles) {
            self.constant = constant
            for (across, down) in Frequencies(width, height).pairs {
                waves.append((across, down, nibbles.next() * scale))
            }
        }

        func at(_ across: [Double], _ down: [Double]) -> Double {
            waves.reduce(constant) { $0 + 2 * $1.factor * across[$1.across] * down[$1.down] }
        }
    }
}

/// Red, green and blue from luminance, yellow against blue, and red against green.
private func rgb(_ luminance: Double, _ first: Double, _ second: Double) -> (red: Double, green: Double, blue: Double) {
    let blue = luminance - 2 / 3 * first
    let red = (3 * luminance - blue + second) / 2
    return (red, red - second, blue)
}

/// For each pixel along a side the cosines of the frequencies 0 to 6.
private func waves(_ count: Int) -> [[Double]] {
    (0..<count).map { position in
        let angle = Double.pi / Double(count) * (Double(position) + 0.5)
        return (0..<7).map { cos(angle * Double($0)) }
    }
}

/// The format cuts the fraction off.
private func level(_ value: Double) -> UInt8 { UInt8(255 * min(1, max(0, value))) }
