import Larder
import Testing

@testable import LarderCommand

@Suite struct TerminalGraphicsTests {
    /// Two columns, two rows: red, green, blue, transparent white.
    static func bitmap() throws -> Bitmap {
        try Bitmap(width: 2, height: 2, hasAlpha: true) { pixels, stride throws(ImageError) in
            pixels.copyBytes(from: [255, 0, 0, 255, 0, 255, 0, 255, 0, 0, 255, 255, 255, 255, 255, 0])
        }
    }

    @Test func halfBlocksShowTwoPixelsACell() throws {
        let lines = TerminalGraphics.blocks.draw(try Self.bitmap(), columns: 4, rows: 1, cell: (8, 16))
        #expect(
            lines == [
                "\u{1B}[0m \u{1B}[38;2;255;0;0;48;2;0;0;255m▀\u{1B}[38;2;0;255;0;48;2;0;0;0m▀\u{1B}[0m \u{1B}[0m"
            ])
    }

    @Test func kittySendsRGB() throws {
        let lines = TerminalGraphics.kitty.draw(try Self.bitmap(), columns: 1, rows: 1, cell: (2, 2))
        #expect(lines == ["\u{1B}_Ga=T,f=24,s=2,v=2,q=2,C=1,m=0;/wAAAP8AAAD/AAAA\u{1B}\\"])
    }

    @Test func sixelPaintsEachColourOfABand() throws {
        let lines = TerminalGraphics.sixel.draw(try Self.bitmap(), columns: 1, rows: 1, cell: (2, 2))
        #expect(lines.count == 1)
        let text = try #require(lines.first)
        #expect(text.hasPrefix("\u{1B}P0;1;0q\"1;1;2;2#0;2;0;0;0#5;2;0;0;100#30;2;0;100;0#180;2;100;0;0"))
        #expect(text.hasSuffix("#0?A$#5A?$#30?@$#180@?$-\u{1B}\\"))
    }

    @Test func aPictureIsShrunkToTheMeanOfItsPixels() throws {
        let grid = try Self.bitmap().fitted(1, 1)
        #expect(grid == PixelGrid(width: 1, height: 1, pixels: [.init(red: 63, green: 63, blue: 63)]))
    }

    @Test(arguments: [
        (["TERM": "xterm-kitty"], TerminalGraphics.kitty),
        (["TERM": "xterm-kitty", "TMUX": "/x"], .blocks),
        (["TERM": "foot"], .sixel),
        (["TERM": "xterm-256color"], .blocks),
        ([:], .blocks),
    ]) func theEnvironmentTellsWhatTheTerminalCan(environment: [String: String], graphics: TerminalGraphics) {
        #expect(TerminalGraphics(environment: environment) == graphics)
    }
}
