import Foundation
import Testing

@testable import LarderWorkers

struct JSONCursorTests {
    private func accepts(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBufferPointer { bytes in
            var cursor = JSONCursor(bytes)
            do {
                _ = try cursor.value()
                try cursor.expectEnd()
                return true
            } catch { return false }
        }
    }

    @Test(arguments: [
        "0", "-0", "10", "01", "-", "1.", "1.5", ".5", "1e", "1e+5", "1E-5", "true", "tru", "nul", "null", "false", "",
        " ", "\"\"", "\"", "\"\\\"", "\"\\u12\"", "\"\\u12fG\"", "\"\\u12fF\"", "\"\\x\"", "\"\t\"", "[]", "[1,]",
        "[1,2]",
        "[,1]", "[1 2]", "{}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\":1}", "{a:1}", "{1:1}", "[1]]", "[[1]", "{]",
        "[}", "\u{FEFF}1", "1 1", "-1e5", "--1", "[true,false,null]", "{\"a\":{\"b\":[{}]}}", "\"\\ud800\"", "NaN",
    ])
    func judgesAsFoundationDoes(text: String) {
        let isJSON = (try? JSONSerialization.jsonObject(with: Data(text.utf8), options: .fragmentsAllowed)) != nil
        // Half a surrogate pair is refused there and read as U+FFFD here; a byte order mark is none of a value's;
        // and Foundation allows a comma before a closing bracket.
        let expected =
            text == "\"\\ud800\"" ? true : text.hasPrefix("\u{FEFF}") || hasLooseComma(text) ? false : isJSON
        #expect(accepts(text) == expected)
    }

    @Test func judgesMutilatedTextsAsFoundationDoes() {
        var random = SeededGenerator(state: 7)
        let seed = #"{"url":"http://a/\u00e9\n","list":[1,-2.5e3,true,null,{"x":""}],"y":{"z":[[]]}}"#
        let alphabet = Array(#"{}[]",:\u0e1-.tfn x"#.utf8)
        for _ in 0..<2000 {
            var bytes = Array(seed.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let at = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[at] = alphabet.randomElement(using: &random)!
                case 1: bytes.remove(at: at)
                default: bytes.insert(alphabet.randomElement(using: &random)!, at: at)
                }
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let isJSON = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
            #expect(accepts(text) == (isJSON && !hasLooseComma(text)), "\(text)")
        }
    }

    private func hasLooseComma(_ text: String) -> Bool { text.contains(/,\s*[}\]]/) }

    @Test func writesWhatItReads() throws {
        let texts = ["", "plain", "\"\\/", "\u{0}\u{1F}\u{7F}\n\r\t", "한국어 😀", "a\u{2028}b"]
        for text in texts {
            var writer = JSONWriter()
            writer.string(text)
            let read = try JSONSerialization.jsonObject(with: Data(writer.bytes), options: .fragmentsAllowed) as? String
            #expect(read == text)
            let again = try writer.bytes.withUnsafeBufferPointer { bytes in
                var cursor = JSONCursor(bytes)
                return try cursor.string()
            }
            #expect(again == text)
        }
    }

    @Test func writesNumbers() {
        func text(_ body: (inout JSONWriter) -> Void) -> String {
            var writer = JSONWriter()
            body(&writer)
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        for value in [0, 7, 10, 1234, -1, -10, .max, .min] { #expect(text { $0.integer(value) } == "\(value)") }
        #expect(text { $0.number(1.005, places: 1) } == "1.0")
        #expect(text { $0.number(-0.25, places: 2) } == "-0.25")
        #expect(text { $0.number(12.034, places: 3) } == "12.034")
        #expect(text { $0.number(3.6, places: 0) } == "4")
        #expect(text { $0.number(.infinity, places: 1) } == "null")
    }
}

/// SplitMix64: the same texts in every run.
private struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
