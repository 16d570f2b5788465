import Glibc

/// Metadata and trailer of an entry file, checked: every length and checksum holds and the parts fill the
/// metadata exactly, so that the accessors read at fixed offsets without further tests.
package struct EntryTail: Sendable {
    /// The end of the file, or all of it.
    private let bytes: HeldBytes
    /// Where in those the metadata begin.
    private let start: Int
    package let metadataLength: Int
    package let payloadLength: Int64
    package let payloadChecksum: UInt64
    package let kind: EntryFormat.Kind

    /// Why a file is no entry of ours.
    package enum Fault: Error, Sendable, Hashable {
        /// More of the file's end is needed: that many bytes.
        case needs(Int)
        /// Too short, cut, or another file altogether.
        case notAnEntry
        /// Whole as far as can be told, but of a version that this build does not know.
        case unknownVersion(UInt16)
        /// A checksum or a length does not hold.
        case damaged
        /// The system could not read it; nothing is said about the entry.
        case unreadable(SystemError)
    }

    /// Looks at the end of a file.
    ///
    /// - Parameters:
    ///   - held: the last bytes of the file, the whole file at most. They are kept.
    ///   - fileSize: the file's size.
    init(_ held: HeldBytes, fileSize: Int64) throws(Fault) {
        typealias Trailer = EntryFormat.Trailer
        bytes = held
        let trailer = held.count - EntryFormat.trailerLength
        guard trailer >= 0, held.number(at: trailer + Trailer.magic, as: UInt64.self) == EntryFormat.magicNumber else {
            throw .notAnEntry
        }
        guard
            held.checksum(trailer..<trailer + Trailer.checksum)
                == held.number(at: trailer + Trailer.checksum, as: UInt64.self)
        else { throw .damaged }
        let version = held.number(at: trailer + Trailer.version, as: UInt16.self)
        guard version == EntryFormat.version else { throw .unknownVersion(version) }
        let metadata = Int(held.number(at: trailer + Trailer.metadataLength, as: UInt32.self))
        let payload = held.number(at: trailer + Trailer.payloadLength, as: UInt64.self)
        guard metadata >= EntryFormat.fixedLength, metadata <= EntryFormat.maximumMetadata,
            payload <= UInt64(Int64.max / 2),
            Int64(payload) + Int64(metadata + EntryFormat.trailerLength) == fileSize,
            let kind = EntryFormat.Kind(rawValue: held.number(at: trailer + Trailer.kind, as: UInt32.self))
        else { throw .damaged }
        guard metadata <= trailer else { throw .needs(metadata + EntryFormat.trailerLength) }
        start = trailer - metadata
        guard
            held.checksum(start..<trailer) == held.number(at: trailer + Trailer.metadataChecksum, as: UInt64.self)
        else { throw .damaged }
        metadataLength = metadata
        payloadLength = Int64(payload)
        payloadChecksum = held.number(at: trailer + Trailer.payloadChecksum, as: UInt64.self)
        self.kind = kind
        guard partsFillMetadata else { throw .damaged }
    }

    package init(_ bytes: [UInt8], fileSize: Int64) throws(Fault) {
        self = try EntryTail(HeldBytes(bytes), fileSize: fileSize)
    }

    /// The file's bytes, payload first, where all of them were read; the payload is not checked yet.
    var wholeFile: HeldBytes? { Int64(start) == payloadLength ? bytes : nil }

    private typealias Fixed = EntryFormat.Fixed

    private func number<Number: FixedWidthInteger>(_ offset: Int, as type: Number.Type = Number.self) -> Number {
        bytes.number(at: start + offset, as: Number.self)
    }

    private func length(_ offset: Int) -> Int {
        let length = number(offset, as: UInt32.self)
        return length == EntryFormat.absent ? 0 : Int(length)
    }

    private var partsFillMetadata: Bool {
        // Five lengths below 2^32 each cannot overflow.
        var sum = EntryFormat.fixedLength
        for offset in stride(from: Fixed.urlLength, through: Fixed.jsonLength, by: 4) { sum += length(offset) }
        return sum == metadataLength
            && number(Fixed.urlLength, as: UInt32.self) != EntryFormat.absent
    }

    /// Where among the bytes the part is whose length stands at `offset`; nil where it is absent.
    private func range(_ offset: Int) -> Range<Int>? {
        guard number(offset, as: UInt32.self) != EntryFormat.absent else { return nil }
        var from = start + EntryFormat.fixedLength
        for earlier in stride(from: Fixed.urlLength, to: offset, by: 4) { from += length(earlier) }
        return from..<from + length(offset)
    }

    private func text(_ offset: Int) -> String? {
        range(offset).map { part in bytes.with { String(decoding: $0[part], as: UTF8.self) } }
    }

    package var hash: CacheKey.Hash {
        CacheKey.Hash(
            high: number(Fixed.keyHash, as: UInt64.self).byteSwapped,
            low: number(Fixed.keyHash + 8, as: UInt64.self).byteSwapped)
    }

    /// The key made anew of its stored parts.
    package var key: CacheKey {
        CacheKey(
            url: text(Fixed.urlLength) ?? "", variant: text(Fixed.variantLength),
            partition: text(Fixed.partitionLength))
    }

    package var url: String { text(Fixed.urlLength) ?? "" }
    package var variant: String? { text(Fixed.variantLength) }

    /// Whether every part of the key is that of `other`, byte by byte.
    package func matches(_ other: CacheKey) -> Bool {
        hash == other.hash && equal(Fixed.urlLength, other.url) && equal(Fixed.variantLength, other.variant)
            && equal(Fixed.partitionLength, other.partition)
    }

    private func equal(_ offset: Int, _ text: String?) -> Bool {
        let part = range(offset)
        guard let part, var text else { return part == nil && text == nil }
        return text.withUTF8 { text in
            bytes.with { bytes in
                guard part.count == text.count, let base = bytes.baseAddress, let start = text.baseAddress else {
                    return part.isEmpty && text.isEmpty
                }
                return memcmp(base + part.lowerBound, start, part.count) == 0
            }
        }
    }

    private var flags: EntryFormat.Flags { EntryFormat.Flags(rawValue: number(Fixed.flags)) }

    package var freshness: StoredFreshness {
        let flags = flags
        return StoredFreshness(
            freshUntil: time(Fixed.freshUntil),
            staleWhileRevalidateUntil: time(Fixed.staleWhileRevalidateUntil),
            staleIfErrorUntil: time(Fixed.staleIfErrorUntil), mustRevalidate: flags.contains(.mustRevalidate),
            noCache: flags.contains(.noCache), immutable: flags.contains(.immutable),
            hasVary: flags.contains(.hasVary))
    }

    private func time(_ offset: Int) -> Timestamp { Timestamp(milliseconds: number(offset)) }

    package var storedAt: Timestamp { time(Fixed.storedAt) }
    package var cacheTime: Timestamp { time(Fixed.cacheTime) }
    package var requestTime: Timestamp { time(Fixed.requestTime) }
    package var responseTime: Timestamp { time(Fixed.responseTime) }
    package var status: Int { Int(number(Fixed.status, as: UInt16.self)) }
    package var isPrivate: Bool { flags.contains(.isPrivate) }
    package var sha256: [UInt8] { raw(Fixed.sha256, 32) }

    package var source: EntryMetadata.VariantSource? {
        guard flags.contains(.hasSource) else { return nil }
        let key = CacheKey.Hash(
            high: number(Fixed.sourceKey, as: UInt64.self).byteSwapped,
            low: number(Fixed.sourceKey + 8, as: UInt64.self).byteSwapped)
        return .init(key: key, sha256: raw(Fixed.sourceSHA256, 32))
    }

    private func raw(_ offset: Int, _ count: Int) -> [UInt8] {
        bytes.with { Array($0[(start + offset)...].prefix(count)) }
    }

    /// The image's header; nil where there is none or its format is unknown to this build.
    package var header: ImageHeader? {
        let flags = flags
        guard flags.contains(.hasHeader), let format = ImageFormat(rawValue: name(Fixed.format, Fixed.formatLength))
        else { return nil }
        return ImageHeader(
            format: format, width: count(Fixed.width) ?? 0, height: count(Fixed.height) ?? 0,
            orientation: Orientation(rawValue: number(Fixed.orientation, as: UInt8.self)) ?? .up,
            hasOrientation: flags.contains(.hasOrientation),
            color: ImageHeader.Color(rawValue: name(Fixed.color, Fixed.colorLength)),
            bitDepth: count(Fixed.bitDepth), hasAlpha: flags.contains(.hasAlpha),
            isProgressive: flags.contains(.isProgressive), frames: count(Fixed.frames) ?? 1,
            iccBytes: count(Fixed.iccBytes) ?? 0, gamma: count(Fixed.gamma), undecodable: text(Fixed.undecodableLength))
    }

    private func count(_ offset: Int) -> Int? {
        let value = number(offset, as: UInt32.self)
        return value == EntryFormat.absent ? nil : Int(value)
    }

    private func name(_ offset: Int, _ count: Int) -> String {
        bytes.with { String(decoding: $0[(start + offset)...].prefix(count).prefix { $0 != 0 }, as: UTF8.self) }
    }

    /// The JSON part as it stands in the file.
    package var json: ArraySlice<UInt8> {
        range(Fixed.jsonLength).map { part in bytes.with { Array($0[part])[...] } } ?? []
    }

    /// The text of a member of the JSON part whose text needs no escapes, found without reading the rest. A quotation
    /// mark inside of a JSON text is escaped, so what is looked for cannot stand in one.
    package func text(ofMember name: String) -> String? {
        let json = json
        let mark = Array("\"\(name)\":\"".utf8)
        guard json.count > mark.count else { return nil }
        for at in json.startIndex...json.endIndex - mark.count where json[at] == mark[0] {
            guard json[at..<at + mark.count].elementsEqual(mark) else { continue }
            let rest = json[(at + mark.count)...]
            return rest.firstIndex(of: mark[0]).map { String(decoding: rest[..<$0], as: UTF8.self) }
        }
        return nil
    }

    /// Everything, the JSON part read.
    package func metadata() throws(ImageError) -> EntryMetadata {
        let json = try MetadataJSON(json)
        return EntryMetadata(
            key: key, finalURL: json.finalURL ?? url, status: status, fields: json.fields,
            varyFields: json.varyFields, requestTime: requestTime, responseTime: responseTime,
            freshness: freshness, isPrivate: isPrivate, header: header, sha256: sha256, source: source,
            extra: json.extra)
    }
}
