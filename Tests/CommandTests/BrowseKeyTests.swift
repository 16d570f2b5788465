import Testing

@testable import LarderCommand

@Suite struct BrowseKeyTests {
    @Test(arguments: [
        ("q", [Key.character("q")]),
        ("\u{1B}[A\u{1B}[B", [.up, .down]),
        ("\u{1B}OA", [.up]),
        ("\u{1B}[5~\u{1B}[6~", [.pageUp, .pageDown]),
        ("\u{1B}", [.escape]),
        ("\u{1B}q", [.escape, .character("q")]),
        ("\r", [.enter]),
        ("\u{03}", [.interrupt]),
        ("\u{7F}", [.backspace]),
        ("한글", [.character("한"), .character("글")]),
        ("\u{1B}[1;5Cx", [.character("x")]),
        ("\u{00}\u{01}a", [.character("a")]),
    ]) func keysAreRead(text: String, keys: [Key]) {
        var bytes = Array(text.utf8)
        #expect(Key.parse(&bytes) == keys)
        #expect(bytes.isEmpty)
    }

    @Test func anUnfinishedCharacterWaitsForItsRest() {
        let whole = Array("é".utf8)
        var bytes = [whole[0]]
        #expect(Key.parse(&bytes) == [])
        #expect(bytes == [whole[0]])
        bytes.append(whole[1])
        #expect(Key.parse(&bytes) == [.character("é")])
    }

    @Test func anyBytesAreSurvived() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<2000 {
            var bytes = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            let count = bytes.count
            _ = Key.parse(&bytes)
            #expect(bytes.count <= min(count, 3))
        }
    }
}
