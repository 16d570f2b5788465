import Foundation
import TestSupport
import Testing

@testable import Larder

struct EntryFormatTests {
    private func tail(_ metadata: EntryMetadata, payload: [UInt8], unknown: [UInt8] = []) throws -> [UInt8] {
        try #require(
            EntryFormat.encode(
                metadata, payloadLength: Int64(payload.count), payloadChecksum: EntryFormat.checksum(payload[...]),
                storedAt: Timestamp(milliseconds: 7), cacheTime: Timestamp(milliseconds: 8), unknown: unknown))
    }

    @Test func everythingComesBack() throws {
        let key = CacheKey(url: "https://example.com/ä?q=1", variant: "256x256>;jpeg;85", partition: "ab")
        let metadata = EntryMetadata(
            key: key, finalURL: "https://cdn.example.com/x", status: 203,
            fields: HTTPFields([.init("A", "1"), .init("a", "\u{0}\u{1f}\"\\ÿ\u{7f}😀")]),
            varyFields: ["Accept": "image/*"], requestTime: Timestamp(milliseconds: -1),
            responseTime: Timestamp(milliseconds: 2),
            freshness: StoredFreshness(
                freshUntil: .distantFuture, staleWhileRevalidateUntil: Timestamp(milliseconds: 3),
                staleIfErrorUntil: .distantPast, mustRevalidate: true, noCache: true, immutable: true, hasVary: true),
            isPrivate: true,
            header: ImageHeader(
                format: .png, width: 70_000, height: 3, orientation: .left, hasOrientation: true, color: .grayAlpha,
                bitDepth: 16, hasAlpha: true, isProgressive: true, frames: 12, iccBytes: 3000, gamma: 45455,
                undecodable: "CgBI PNG"),
            sha256: Array(1...32), source: .init(key: .init(high: 1, low: 2), sha256: Array(33...64)),
            extra: ["thumbhash": "AQID", "b": ""])
        let payload: [UInt8] = [1, 2, 3]
        let file = payload + (try tail(metadata, payload: payload))
        let read = try EntryTail(file, fileSize: Int64(file.count))
        #expect(try read.metadata() == metadata)
        #expect(read.storedAt.milliseconds == 7)
        #expect(read.cacheTime.milliseconds == 8)
        #expect(read.matches(key))
        #expect(!read.matches(CacheKey(url: key.url, variant: key.variant)))
    }

    @Test func absentPartsStayAbsent() throws {
        let metadata = DiskFixtures.metadata(DiskFixtures.key(1), fields: [:], header: nil)
        let file = try tail(metadata, payload: [])
        let read = try EntryTail(file, fileSize: Int64(file.count)).metadata()
        #expect(read.header == nil && read.source == nil && read.key.variant == nil && read.key.partition == nil)
    }

    /// Every single byte of metadata and trailer, and each of its bits in turn.
    @Test func everyFlippedByteIsFound() throws {
        let payload = DiskFixtures.bytes(100)
        let whole = payload + (try tail(DiskFixtures.metadata(DiskFixtures.key(1)), payload: payload))
        for index in payload.count..<whole.count {
            var bytes = whole
            bytes[index] ^= 1 << UInt8(index % 8)
            #expect(throws: EntryTail.Fault.self, "byte \(index)") {
                try EntryTail(bytes, fileSize: Int64(bytes.count))
            }
        }
    }

    @Test func everyCutIsFound() throws {
        let payload = DiskFixtures.bytes(10)
        let whole = payload + (try tail(DiskFixtures.metadata(DiskFixtures.key(1)), payload: payload))
        for count in 0..<whole.count {
            #expect(throws: EntryTail.Fault.self) { try EntryTail(Array(whole[..<count]), fileSize: Int64(count)) }
            #expect(throws: EntryTail.Fault.self) { try EntryTail(whole, fileSize: Int64(count)) }
        }
    }

    /// Lengths that a hostile file states with checksums that hold: none of them reaches an offset.
    @Test func statedLengthsAreChecked() throws {
        let whole = try tail(DiskFixtures.metadata(DiskFixtures.key(1)), payload: [])
        let trailer = whole.count - EntryFormat.trailerLength
        func sealed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
            var bytes = whole
            change(&bytes)
            func put(_ value: UInt64, _ at: Int) {
                for index in 0..<8 { bytes[at + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(index))) }
            }
            put(EntryFormat.checksum(bytes[..<trailer]), trailer + EntryFormat.Trailer.metadataChecksum)
            put(
                EntryFormat.checksum(bytes[trailer..<trailer + EntryFormat.Trailer.checksum]),
                trailer + EntryFormat.Trailer.checksum)
            return bytes
        }
        // The sealing alone changes nothing.
        #expect(try EntryTail(sealed { _ in }, fileSize: Int64(whole.count)).metadataLength == trailer)
        let fields =
            (0..<5).map { (EntryFormat.Fixed.urlLength + 4 * $0, 4) } + [
                (trailer + EntryFormat.Trailer.payloadLength, 8), (trailer + EntryFormat.Trailer.metadataLength, 4),
            ]
        for (offset, size) in fields {
            for value: UInt8 in [0x7F, 0xFE, 0x01] {
                let bytes = sealed { bytes in for index in 0..<size { bytes[offset + index] = value } }
                #expect(throws: EntryTail.Fault.self) { try EntryTail(bytes, fileSize: Int64(bytes.count)) }
            }
        }
    }

    @Test func anUnknownVersionIsToldApart() throws {
        var bytes = try tail(DiskFixtures.metadata(DiskFixtures.key(1)), payload: [])
        let trailer = bytes.count - EntryFormat.trailerLength
        bytes[trailer + EntryFormat.Trailer.version] = 2
        let sum = EntryFormat.checksum(bytes[trailer..<trailer + EntryFormat.Trailer.checksum])
        for index in 0..<8 {
            bytes[trailer + EntryFormat.Trailer.checksum + index] = UInt8(
                truncatingIfNeeded: sum >> (8 * UInt64(index)))
        }
        #expect(throws: EntryTail.Fault.unknownVersion(2)) { try EntryTail(bytes, fileSize: Int64(bytes.count)) }
    }

    @Test func metadataIsBounded() {
        let metadata = DiskFixtures.metadata(
            DiskFixtures.key(1), fields: ["X": String(repeating: "x", count: EntryFormat.maximumMetadata)])
        #expect(
            EntryFormat.encode(
                metadata, payloadLength: 0, payloadChecksum: 0, storedAt: .distantPast, cacheTime: .distantPast) == nil)
    }

    @Test func unknownMembersAreReadAndWrittenAgain() throws {
        let metadata = DiskFixtures.metadata(DiskFixtures.key(1), extra: ["a": "b"])
        let json = MetadataJSON.encode(metadata, unknown: Array(#""later":{"n":[1,2.5,null,"ü"]},"z":true"#.utf8))
        let read = try MetadataJSON(json[...])
        #expect(read.extra == ["a": "b"])
        let again = try MetadataJSON(MetadataJSON.encode(metadata, unknown: read.unknown)[...])
        #expect(again.unknown == read.unknown)
        #expect(String(decoding: again.unknown, as: UTF8.self).contains(#""n":[1,2.5,null,"ü"]"#))
    }

    /// Any header value, and every character that JSON escapes.
    @Test func fieldValuesAreByteSafe() throws {
        let everything = String(String.UnicodeScalarView((0...0x2FF).compactMap(Unicode.Scalar.init)))
        var fields = HTTPFields()
        fields.append("X-All", everything)
        fields.append("X-Empty", "")
        let metadata = DiskFixtures.metadata(DiskFixtures.key(1), fields: fields)
        let read = try MetadataJSON(MetadataJSON.encode(metadata, unknown: [])[...])
        #expect(read.fields.fields.map { Array($0.value.utf8) } == fields.fields.map { Array($0.value.utf8) })
    }
}
