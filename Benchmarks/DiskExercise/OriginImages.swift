import Larder

/// What the origin would answer for each number: the same bytes at any time, in any process.
struct OriginImages {
    /// The greatest body.
    let largest: Int

    func key(_ number: Int) -> CacheKey { CacheKey(url: "https://origin.example/images/\(number)/photo.jpg") }

    func size(_ number: Int) -> Int {
        var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
        state ^= state >> 31
        return Int(state % UInt64(largest + 1))
    }

    func body(_ number: Int) -> [UInt8] { Self.bytes(size(number), UInt64(number) + 1) }

    static func bytes(_ count: Int, _ seed: UInt64) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, done in
            var state = seed &* 0xD134_2543_DE82_EF95 | 1
            for index in 0..<count {
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                buffer[index] = UInt8(truncatingIfNeeded: state >> 24)
            }
            done = count
        }
    }

    func metadata(_ key: CacheKey) -> EntryMetadata {
        let now = SystemTime().now
        return EntryMetadata(
            key: key, finalURL: key.url,
            fields: ["Content-Type": "image/jpeg", "ETag": "\"5f3-9a\"", "Cache-Control": "max-age=86400"],
            requestTime: now, responseTime: now, freshness: StoredFreshness(freshUntil: now.adding(seconds: 86_400)),
            header: ImageHeader(format: .jpeg, width: 640, height: 480))
    }
}
