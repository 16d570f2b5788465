import Foundation
import Larder

/// How a terminal can show a picture.
enum TerminalGraphics: String, CaseIterable {
    /// kitty's graphics protocol: true pixels.
    case kitty
    /// DEC sixel: true pixels, 216 colours.
    case sixel
    /// Two pixels a character cell, in 24-bit colour: every terminal of today.
    case blocks

    /// What the terminal can, as far as its environment tells. tmux and screen pass no graphics on.
    init(environment: [String: String]) {
        let term = environment["TERM"] ?? ""
        let program = environment["TERM_PROGRAM"] ?? ""
        if environment["TMUX"] != nil || term.hasPrefix("screen") || term.hasPrefix("tmux") {
            self = .blocks
        } else if environment["KITTY_WINDOW_ID"] != nil || term == "xterm-kitty" || term == "xterm-ghostty"
            || program == "WezTerm" || program == "ghostty"
        {
            self = .kitty
        } else if ["foot", "mlterm", "yaft-256color", "contour"].contains(where: term.hasPrefix) {
            self = .sixel
        } else {
            self = .blocks
        }
    }

    /// The text that draws the bitmap in `columns` × `rows` cells, from the cursor's place, and the lines it is made
    /// of: only `.blocks` has more than one, since a cell row is a line of text there.
    ///
    /// - Parameter cell: the pixels of one character cell, for the protocols that draw pixels.
    func draw(_ bitmap: Bitmap, columns: Int, rows: Int, cell: (width: Int, height: Int)) -> [String] {
        switch self {
        case .kitty: [Self.kitty(bitmap.fitted(columns * cell.width, rows * cell.height))]
        case .sixel: [Self.sixel(bitmap.fitted(columns * cell.width, rows * cell.height))]
        case .blocks: Self.blocks(bitmap.fitted(columns, rows * 2), columns: columns, rows: rows)
        }
    }

    /// The half-block lines: the upper pixel is the foreground of `▀`, the lower one its background.
    private static func blocks(_ grid: PixelGrid, columns: Int, rows: Int) -> [String] {
        let left = (columns - grid.width) / 2
        let top = max(0, (rows * 2 - grid.height) / 2)
        return (0..<rows).map { row in
            var line = ""
            var last = ""
            for column in 0..<columns {
                let upper = grid.pixel(column - left, row * 2 - top)
                let lower = grid.pixel(column - left, row * 2 + 1 - top)
                let style: String
                let glyph: String
                switch (upper, lower) {
                case (nil, nil): (style, glyph) = ("\u{1B}[0m", " ")
                case (let upper?, nil): (style, glyph) = ("\u{1B}[0;38;2;\(upper.code)m", "▀")
                case (nil, let lower?): (style, glyph) = ("\u{1B}[0;38;2;\(lower.code)m", "▄")
                case (let upper?, let lower?):
                    (style, glyph) = ("\u{1B}[38;2;\(upper.code);48;2;\(lower.code)m", "▀")
                }
                if style != last { line += style }
                last = style
                line += glyph
            }
            return line + "\u{1B}[0m"
        }
    }

    /// RGBA in chunks of base64; the cursor stays where it is.
    private static func kitty(_ grid: PixelGrid) -> String {
        let data = Data(grid.pixels.flatMap { [$0.red, $0.green, $0.blue] }).base64EncodedString()
        var rest = data[...]
        var text = ""
        var head = "a=T,f=24,s=\(grid.width),v=\(grid.height),q=2,C=1,"
        repeat {
            let chunk = rest.prefix(4096)
            rest = rest.dropFirst(4096)
            text += "\u{1B}_G\(head)m=\(rest.isEmpty ? 0 : 1);\(chunk)\u{1B}\\"
            head = ""
        } while !rest.isEmpty
        return text
    }

    /// Six rows of pixels a band, a plane for each colour of a 6×6×6 cube that the band uses.
    private static func sixel(_ grid: PixelGrid) -> String {
        func index(_ pixel: PixelGrid.Pixel) -> Int {
            (Int(pixel.red) * 5 + 127) / 255 * 36 + (Int(pixel.green) * 5 + 127) / 255 * 6
                + (Int(pixel.blue) * 5 + 127) / 255
        }
        var text = "\u{1B}P0;1;0q\"1;1;\(grid.width);\(grid.height)"
        let indices = grid.pixels.map(index)
        for color in Set(indices).sorted() {
            text += "#\(color);2;\(color / 36 * 20);\(color / 6 % 6 * 20);\(color % 6 * 20)"
        }
        for top in stride(from: 0, to: grid.height, by: 6) {
            let band = indices[(top * grid.width)..<(min(top + 6, grid.height) * grid.width)]
            for color in Set(band).sorted() {
                text += "#\(color)"
                var run = (bits: 0, length: 0)
                func flush() {
                    guard run.length > 0 else { return }
                    let glyph = Character(Unicode.Scalar(UInt8(63 + run.bits)))
                    text += run.length > 3 ? "!\(run.length)\(glyph)" : String(repeating: glyph, count: run.length)
                }
                for column in 0..<grid.width {
                    var bits = 0
                    for row in 0..<min(6, grid.height - top)
                    where indices[(top + row) * grid.width + column] == color { bits |= 1 << row }
                    if bits != run.bits {
                        flush()
                        run = (bits, 0)
                    }
                    run.length += 1
                }
                flush()
                text += "$"
            }
            text += "-"
        }
        return text + "\u{1B}\\"
    }
}
