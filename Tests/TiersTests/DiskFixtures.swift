import Foundation
import TestSupport

@testable import Larder

/// What the disk tier's tests share.
enum DiskFixtures {
    /// The same bytes for the same seed; made eight at a time, because tests are not optimised.
    static func bytes(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        var words = [UInt64](repeating: 0, count: count / 8 + 1)
        for index in words.indices {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            words[index] = state
        }
        return words.withUnsafeBytes { Array($0.prefix(count)) }
    }

    static func metadata(
        _ key: CacheKey, fields: HTTPFields = ["Content-Type": "image/jpeg", "ETag": "\"v1\""],
        header: ImageHeader? = ImageHeader(format: .jpeg, width: 640, height: 480), extra: [String: String] = [:],
        source: EntryMetadata.VariantSource? = nil, freshUntil: Int64 = 2_000_000_000_000
    ) -> EntryMetadata {
        EntryMetadata(
            key: key, finalURL: key.url, fields: fields,
            requestTime: Timestamp(milliseconds: 1_768_478_399_000),
            responseTime: Timestamp(milliseconds: 1_768_478_399_500),
            freshness: StoredFreshness(freshUntil: Timestamp(milliseconds: freshUntil)), header: header,
            source: source, extra: extra)
    }

    static func key(_ number: Int) -> CacheKey { CacheKey(url: "https://example.com/images/\(number).jpg") }

    @discardableResult
    static func store(
        _ tier: DiskTier, _ key: CacheKey, _ payload: [UInt8], _ metadata: EntryMetadata? = nil
    ) throws -> StoredEntry {
        let writer = try tier.begin(key)
        try payload.withUnsafeBytes { try writer.append($0) }
        return try writer.commit(metadata ?? self.metadata(key))
    }
}

extension [UInt8] {
    /// As `==`, which takes seconds in a build for debugging.
    func isSame(as other: [UInt8]) -> Bool {
        count == other.count && (isEmpty || withUnsafeBytes { memcmp($0.baseAddress!, other, count) } == 0)
    }
}
