import Foundation
import TestSupport
import Testing

@testable import Larder

struct PartialStoreTests {
    private let directory = TemporaryDirectory()
    private let key = DiskFixtures.key(1)

    private func cut(_ tier: DiskTier, _ key: CacheKey, _ payload: ArraySlice<UInt8>) throws {
        let writer = try tier.begin(key)
        try Array(payload).withUnsafeBytes { try writer.append($0) }
        writer.keepPartial(DiskFixtures.metadata(key), validator: "\"v1\"")
    }

    @Test func aLaterProcessGoesOn() throws {
        let payload = DiskFixtures.bytes(300_000)
        try cut(try DiskTier(directory: directory.path), key, payload[..<170_000])
        let tier = try DiskTier(directory: directory.path)
        #expect(tier.entry(for: key) == nil)
        let writer = try #require(tier.resume(key))
        #expect(writer.resumed?.validator == "\"v1\"")
        #expect(writer.resumed?.bytes == 170_000)
        #expect(try #require(writer.resumed).metadata.fields["ETag"] == "\"v1\"")
        // It is taken: nobody else goes on with the same file.
        #expect(tier.resume(key) == nil)
        try Array(payload[170_000...]).withUnsafeBytes { try writer.append($0) }
        let entry = try writer.commit(DiskFixtures.metadata(key))
        #expect(entry.sha256 == SHA256.digest(payload))
        #expect(try #require(tier.entry(for: key)).payload().isSame(as: payload))
        #expect(directory.files(under: "tmp") == [])
    }

    @Test func thatOfAPrivateAnswerIsFoundByTheKeyThatWasAskedFor() throws {
        let tier = try DiskTier(directory: directory.path)
        let answered = try #require(key.ofPrivateAnswer)
        try cut(tier, answered, DiskFixtures.bytes(170_000)[...])
        let writer = try #require(tier.resume(key))
        #expect(writer.key == answered)
        let entry = try writer.commit(DiskFixtures.metadata(answered))
        #expect(entry.isStored)
        #expect(try #require(tier.entry(for: key)).key == answered)
        #expect(directory.files(under: "tmp") == [])
    }

    @Test func aWholeAnswerStartsAnew() throws {
        let tier = try DiskTier(directory: directory.path)
        try cut(tier, key, DiskFixtures.bytes(170_000)[...])
        let writer = try #require(tier.resume(key))
        try writer.restart()
        let payload = DiskFixtures.bytes(1000, seed: 9)
        try payload.withUnsafeBytes { try writer.append($0) }
        let entry = try writer.commit(DiskFixtures.metadata(key))
        #expect(entry.sha256 == SHA256.digest(payload))
        #expect(try #require(tier.entry(for: key)).payload().isSame(as: payload))
    }

    @Test func aDamagedBeginningIsForgotten() throws {
        let tier = try DiskTier(directory: directory.path)
        try cut(tier, key, DiskFixtures.bytes(50_000)[...])
        let file = URL(fileURLWithPath: directory("tmp/\(key.hash).part"))
        var bytes = try Data(contentsOf: file)
        bytes[777] ^= 1
        try bytes.write(to: file)
        #expect(tier.resume(key) == nil)
        #expect(directory.files(under: "tmp") == [])
    }

    @Test func theirNumberBytesAndAgeAreBounded() throws {
        let time = ManualTime(now: SystemTime().now)
        var configuration = DiskTierConfiguration()
        configuration.partials = .init(count: 3, bytes: 50_000, age: 100)
        let tier = try DiskTier(directory: directory.path, configuration: configuration, time: time)
        for number in 0..<6 { try cut(tier, DiskFixtures.key(number), DiskFixtures.bytes(1000)[...]) }
        #expect(directory.files(under: "tmp").count == 3)
        try cut(tier, DiskFixtures.key(7), DiskFixtures.bytes(49_400)[...])
        #expect(directory.files(under: "tmp").count == 1)
        try cut(tier, DiskFixtures.key(8), DiskFixtures.bytes(60_000)[...])
        #expect(tier.resume(DiskFixtures.key(8)) == nil)
        time.advance(seconds: 1000)
        try cut(tier, DiskFixtures.key(9), DiskFixtures.bytes(10)[...])
        #expect(directory.files(under: "tmp") == ["\(DiskFixtures.key(9).hash).part"])
    }
}
