import Testing

@testable import LarderPrefetch

struct HarmlessTextTests {
    @Test(arguments: [
        ("https://a/b?c=d", "https://a/b?c=d"), ("사진 é 🖼", "사진 é 🖼"), ("", ""),
        ("\u{1b}]0;x\u{7}", "\u{FFFD}]0;x\u{FFFD}"), ("\u{9b}2J", "\u{FFFD}2J"),
        ("a\u{202e}b\u{2066}c", "a\u{FFFD}b\u{FFFD}c"),
        ("a\r\nb\tc\u{7f}", "a\u{FFFD}\u{FFFD}b\u{FFFD}c\u{FFFD}"), ("a\u{2028}b\u{2029}c", "a\u{FFFD}b\u{FFFD}c"),
        ("\u{feff}a", "\u{FFFD}a"), ("👩\u{200d}👧", "👩👧"),
    ])
    func nothingMovesTheCursor(text: String, harmless: String) { #expect(text.harmless == harmless) }

    @Test func linesMayStay() {
        #expect("a\nb\r\nc\u{1b}[1A\n".harmlessLines == "a\nb\u{FFFD}\nc\u{FFFD}[1A\n")
    }
}
