import Larder

/// A small opaque picture for a terminal.
struct PixelGrid: Equatable {
    struct Pixel: Equatable {
        var red: UInt8
        var green: UInt8
        var blue: UInt8
        /// As the terminal's colour sequences want it.
        var code: String { "\(red);\(green);\(blue)" }
    }

    let width: Int
    let height: Int
    let pixels: [Pixel]

    /// The pixel, or nil outside of the picture.
    func pixel(_ column: Int, _ row: Int) -> Pixel? {
        guard column >= 0, column < width, row >= 0, row < height else { return nil }
        return pixels[row * width + column]
    }
}

extension Bitmap {
    /// The picture within `maxWidth` × `maxHeight` pixels, on black, each pixel the mean of those it stands for.
    func fitted(_ maxWidth: Int, _ maxHeight: Int) -> PixelGrid {
        let scale = min(1, Double(maxWidth) / Double(width), Double(maxHeight) / Double(height))
        let columns = max(1, min(maxWidth, Int((Double(width) * scale).rounded())))
        let rows = max(1, min(maxHeight, Int((Double(height) * scale).rounded())))
        var pixels: [PixelGrid.Pixel] = []
        pixels.reserveCapacity(columns * rows)
        withPixels { bytes in
            for row in 0..<rows {
                let (top, bottom) = (row * height / rows, max(row * height / rows + 1, (row + 1) * height / rows))
                for column in 0..<columns {
                    let (left, right) = (
                        column * width / columns, max(column * width / columns + 1, (column + 1) * width / columns)
                    )
                    var (red, green, blue) = (0, 0, 0)
                    for y in top..<bottom {
                        for x in left..<right {
                            let at = y * stride + x * 4
                            let alpha = Int(bytes[at + 3])
                            red += Int(bytes[at]) * alpha
                            green += Int(bytes[at + 1]) * alpha
                            blue += Int(bytes[at + 2]) * alpha
                        }
                    }
                    let area = (bottom - top) * (right - left) * 255
                    pixels.append(
                        .init(red: UInt8(red / area), green: UInt8(green / area), blue: UInt8(blue / area)))
                }
            }
        }
        return PixelGrid(width: columns, height: rows, pixels: pixels)
    }
}
