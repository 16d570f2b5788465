import CXXHash

/// The entry file, version 1: payload, metadata (fixed part, key, JSON), trailer. All numbers are little-endian.
/// The layout is written down in Documentation/entry-format.md; both change together.
package enum EntryFormat {
    package static let version: UInt16 = 1
    package static let trailerLength = 64
    package static let fixedLength = 256
    /// The greatest metadata, fixed part and JSON together, in bytes.
    package static let maximumMetadata = 64 << 10
    /// Where an optional length or number is absent.
    static let absent = UInt32.max
    /// A byte that no text begins with, `LARDER`, and a line feed that a text conversion would change.
    static let magic: [UInt8] = [0x89] + Array("LARDER".utf8) + [0x0A]
    /// The same as a little-endian number.
    static let magicNumber: UInt64 = 0x0A52_4544_5241_4C89

    /// Offsets in the trailer.
    enum Trailer {
        static let payloadLength = 0
        static let payloadChecksum = 8
        static let metadataChecksum = 16
        static let metadataLength = 24
        static let kind = 28
        static let version = 32
        static let checksum = 48
        static let magic = 56
    }

    /// What the payload is: the trailer's `kind`.
    package enum Kind: UInt32, Sendable {
        /// A whole, checked response or variant.
        case entry = 0
        /// The beginning of a response whose transfer was cut. Never in an entry's place.
        case partial = 1
    }

    /// Offsets in the fixed part.
    enum Fixed {
        static let keyHash = 0
        static let urlLength = 16
        static let variantLength = 20
        static let partitionLength = 24
        static let undecodableLength = 28
        static let jsonLength = 32
        static let status = 36
        static let flags = 40
        static let storedAt = 48
        static let cacheTime = 56
        static let requestTime = 64
        static let responseTime = 72
        static let freshUntil = 80
        static let staleWhileRevalidateUntil = 88
        static let staleIfErrorUntil = 96
        static let format = 104
        static let color = 112
        static let bitDepth = 124
        static let width = 128
        static let height = 132
        static let frames = 136
        static let iccBytes = 140
        static let gamma = 144
        static let orientation = 148
        static let sha256 = 152
        static let sourceKey = 184
        static let sourceSHA256 = 200
        static let formatLength = 8
        static let colorLength = 12
    }

    /// Bits of the fixed part's `flags`.
    struct Flags: OptionSet {
        var rawValue: UInt64
        static let mustRevalidate = Flags(rawValue: 1 << 0)
        static let noCache = Flags(rawValue: 1 << 1)
        static let immutable = Flags(rawValue: 1 << 2)
        static let hasVary = Flags(rawValue: 1 << 3)
        static let isPrivate = Flags(rawValue: 1 << 4)
        static let hasHeader = Flags(rawValue: 1 << 5)
        static let hasOrientation = Flags(rawValue: 1 << 6)
        static let hasAlpha = Flags(rawValue: 1 << 7)
        static let isProgressive = Flags(rawValue: 1 << 8)
        static let hasSource = Flags(rawValue: 1 << 9)
    }

    /// Metadata and trailer of an entry, as they stand behind its payload; nil where the metadata would pass
    /// ``maximumMetadata``.
    ///
    /// - Parameter unknown: members of the JSON part that an earlier writer left and we do not know.
    static func encode(
        _ metadata: EntryMetadata, kind: Kind = .entry, payloadLength: Int64, payloadChecksum: UInt64,
        storedAt: Timestamp, cacheTime: Timestamp, unknown: [UInt8] = []
    ) -> [UInt8]? {
        let json = MetadataJSON.encode(metadata, unknown: unknown)
        let texts: [String?] = [
            metadata.key.url, metadata.key.variant, metadata.key.partition, metadata.header?.undecodable,
        ]
        let length = texts.reduce(fixedLength + json.count) { $0 + ($1?.utf8.count ?? 0) }
        guard length <= maximumMetadata else { return nil }

        var out = [UInt8](repeating: 0, count: fixedLength)
        out.reserveCapacity(length + trailerLength)
        encodeFixed(metadata, storedAt: storedAt, cacheTime: cacheTime, into: &out)
        for (index, text) in texts.enumerated() {
            out.put(text.map { UInt32($0.utf8.count) } ?? absent, at: Fixed.urlLength + 4 * index)
            if let text { out.append(contentsOf: text.utf8) }
        }
        out.put(UInt32(json.count), at: Fixed.jsonLength)
        out.append(contentsOf: json)

        let trailer = out.count
        let metadataChecksum = checksum(out[...])
        out.append(contentsOf: repeatElement(0, count: trailerLength))
        out.put(UInt64(payloadLength), at: trailer + Trailer.payloadLength)
        out.put(payloadChecksum, at: trailer + Trailer.payloadChecksum)
        out.put(metadataChecksum, at: trailer + Trailer.metadataChecksum)
        out.put(UInt32(trailer), at: trailer + Trailer.metadataLength)
        out.put(kind.rawValue, at: trailer + Trailer.kind)
        out.put(version, at: trailer + Trailer.version)
        out.put(checksum(out[trailer..<trailer + Trailer.checksum]), at: trailer + Trailer.checksum)
        out.replaceSubrange(trailer + Trailer.magic..<trailer + trailerLength, with: magic)
        return out
    }

    private static func encodeFixed(
        _ metadata: EntryMetadata, storedAt: Timestamp, cacheTime: Timestamp, into out: inout [UInt8]
    ) {
        var flags: Flags = []
        let freshness = metadata.freshness
        if freshness.mustRevalidate { flags.insert(.mustRevalidate) }
        if freshness.noCache { flags.insert(.noCache) }
        if freshness.immutable { flags.insert(.immutable) }
        if freshness.hasVary { flags.insert(.hasVary) }
        if metadata.isPrivate { flags.insert(.isPrivate) }
        out.put(metadata.key.hash.high.byteSwapped, at: Fixed.keyHash)
        out.put(metadata.key.hash.low.byteSwapped, at: Fixed.keyHash + 8)
        out.put(UInt16(clamping: metadata.status), at: Fixed.status)
        out.put(storedAt.milliseconds, at: Fixed.storedAt)
        out.put(cacheTime.milliseconds, at: Fixed.cacheTime)
        out.put(metadata.requestTime.milliseconds, at: Fixed.requestTime)
        out.put(metadata.responseTime.milliseconds, at: Fixed.responseTime)
        out.put(freshness.freshUntil.milliseconds, at: Fixed.freshUntil)
        out.put(freshness.staleWhileRevalidateUntil.milliseconds, at: Fixed.staleWhileRevalidateUntil)
        out.put(freshness.staleIfErrorUntil.milliseconds, at: Fixed.staleIfErrorUntil)
        out.put(metadata.sha256, at: Fixed.sha256, count: 32)
        if let header = metadata.header {
            flags.insert(.hasHeader)
            if header.hasOrientation { flags.insert(.hasOrientation) }
            if header.hasAlpha { flags.insert(.hasAlpha) }
            if header.isProgressive { flags.insert(.isProgressive) }
            out.put(Array(header.format.rawValue.utf8), at: Fixed.format, count: Fixed.formatLength)
            out.put(Array((header.color?.rawValue ?? "").utf8), at: Fixed.color, count: Fixed.colorLength)
            out.put(header.bitDepth.map { UInt32(clamping: $0) } ?? absent, at: Fixed.bitDepth)
            out.put(UInt32(clamping: header.width), at: Fixed.width)
            out.put(UInt32(clamping: header.height), at: Fixed.height)
            out.put(UInt32(clamping: header.frames), at: Fixed.frames)
            out.put(UInt32(clamping: header.iccBytes), at: Fixed.iccBytes)
            out.put(header.gamma.map { UInt32(clamping: $0) } ?? absent, at: Fixed.gamma)
            out[Fixed.orientation] = header.orientation.rawValue
        }
        if let source = metadata.source {
            flags.insert(.hasSource)
            out.put(source.key.high.byteSwapped, at: Fixed.sourceKey)
            out.put(source.key.low.byteSwapped, at: Fixed.sourceKey + 8)
            out.put(source.sha256, at: Fixed.sourceSHA256, count: 32)
        }
        out.put(flags.rawValue, at: Fixed.flags)
    }

    /// XXH3, 64 bits.
    static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.withUnsafeBytes { checksum($0) } }

    static func checksum(_ bytes: UnsafeRawBufferPointer) -> UInt64 { larder_xxh3(bytes.baseAddress, bytes.count) }
}

extension [UInt8] {
    /// Sets a number in little-endian order at an offset that exists.
    fileprivate mutating func put<Number: FixedWidthInteger>(_ number: Number, at offset: Int) {
        precondition(offset >= 0 && offset + MemoryLayout<Number>.size <= count)
        withUnsafeMutableBytes { $0.storeBytes(of: number.littleEndian, toByteOffset: offset, as: Number.self) }
    }

    /// Sets up to `limit` bytes; what is missing stays zero.
    fileprivate mutating func put(_ bytes: [UInt8], at offset: Int, count limit: Int) {
        for (index, byte) in bytes.prefix(limit).enumerated() { self[offset + index] = byte }
    }
}
