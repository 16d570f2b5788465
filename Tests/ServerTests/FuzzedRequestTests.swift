import Testing

@testable import LarderServer

/// The short form of `make fuzz`: seeded changes to what clients write.
@Suite struct FuzzedRequestTests {
    private static let seeds: [String] = [
        "\0/image?url=http%3A%2F%2Fe.com%2Fa&w=16&dpr=2&fm=png",
        "\0/unsafe/fit-in/16x16/filters:quality(3)/http://e.com/a",
        "\0/files/ab/cdef0123456789abcdef0123456789.jpg?w=3",
        "\0/api/entries?offset=1&limit=2&sort=-size&state=failed", "\u{1}abytes=0-9",
        "\u{1}\u{7f}bytes=-99999999999999999999,5-",
        "\u{2}-30x40/smart/filters:format(png)/https%3A//e.com", "\u{3}W/\"abc\", \"def\"",
        "\u{3}larder_session=1768478400.abc", "\u{4}[::1]:80",
        "\u{5}Host:a\nContent-Length:0\nTransfer-Encoding:chunked",
    ]

    @Test func changedRequestsTrapNowhere() {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(truncatingIfNeeded: (state >> 33)) % max(1, bound)
        }
        for round in 0..<20_000 {
            var bytes = Array(Self.seeds[round % Self.seeds.count].utf8)
            for _ in 0...next(6) {
                let place = 1 + next(bytes.count - 1)
                switch next(4) {
                case 0: bytes[place] = UInt8(next(256))
                case 1: bytes.insert(UInt8(next(256)), at: place)
                case 2: if bytes.count > 2 { bytes.remove(at: place) }
                default: bytes.insert(contentsOf: bytes[place...].prefix(next(20)), at: place)
                }
            }
            FuzzedRequest.run(bytes)
        }
    }
}
