/// What the index holds of an entry.
package struct IndexRow: Sendable, Hashable {
    package var hash: CacheKey.Hash
    /// Bytes used on disk, metadata included.
    package var bytes: Int64
    /// Bytes of the payload.
    package var length: Int64
    /// When it was stored or last revalidated, by the wall clock.
    package var storedAt: Timestamp
    /// The same by the cache's clock: what its age is reckoned from.
    package var agedFrom: Timestamp
    package var expires: Timestamp
    /// The file's own time: tells whether it is still the one that the row speaks of.
    package var modified: Timestamp
    /// By the cache's clock; nil where the row is new.
    package var lastUse: Timestamp?
    package var isPrivate: Bool
    package var url: String
    package var variant: String?
    package var format: String?
    package var width: Int?
    package var height: Int?

    /// Where the entry lies below the cache directory.
    package var file: String {
        let name = hash.description
        return name.prefix(2) + "/" + name.dropFirst(2)
    }

    init(_ tail: EntryTail, bytes: Int64, modified: Timestamp, lastUse: Timestamp? = nil) {
        hash = tail.hash
        self.bytes = bytes
        length = tail.payloadLength
        storedAt = tail.storedAt
        agedFrom = tail.cacheTime
        expires = tail.freshness.freshUntil
        self.modified = modified
        self.lastUse = lastUse
        isPrivate = tail.isPrivate
        url = tail.url
        variant = tail.variant
        let header = tail.header
        format = header?.format.rawValue
        width = header?.width
        height = header?.height
    }

    static let columns =
        "seq, id, low, bytes, length, stored, aged, expires, modified, private, url, variant, format, width, height"

    init(_ row: IndexDatabase.Row) {
        lastUse = UseOrder.time(row.integer(0))
        hash = CacheKey.Hash(id: row.integer(1), low: row.integer(2))
        bytes = row.integer(3)
        length = row.integer(4)
        storedAt = Timestamp(milliseconds: row.integer(5))
        agedFrom = Timestamp(milliseconds: row.integer(6))
        expires = Timestamp(milliseconds: row.integer(7))
        modified = Timestamp(milliseconds: row.integer(8))
        isPrivate = row.integer(9) != 0
        url = row.text(10) ?? ""
        variant = row.text(11)
        format = row.text(12)
        width = row.isNull(13) ? nil : Int(row.integer(13))
        height = row.isNull(14) ? nil : Int(row.integer(14))
    }

    func values(seq: Int64) -> [IndexDatabase.Value] {
        [
            .integer(seq), .integer(hash.id), .integer(hash.lowBits), .integer(bytes), .integer(length),
            .integer(storedAt.milliseconds), .integer(agedFrom.milliseconds), .integer(expires.milliseconds),
            .integer(modified.milliseconds), .integer(isPrivate ? 1 : 0), .text(url), .init(variant), .init(format),
            .init(width), .init(height),
        ]
    }
}

extension CacheKey.Hash {
    init(id: Int64, low: Int64) { self.init(high: UInt64(bitPattern: id), low: UInt64(bitPattern: low)) }
    var id: Int64 { Int64(bitPattern: high) }
    var lowBits: Int64 { Int64(bitPattern: low) }
}

/// The order of use as a number: milliseconds of the cache's clock and 20 bits that make it unique.
enum UseOrder {
    private static let bits: Int64 = 20
    private static let range = Int64.min >> bits...Int64.max >> bits

    static func number(_ time: Timestamp, _ low: Int64 = 0) -> Int64 {
        let milliseconds = min(max(time.milliseconds, range.lowerBound), range.upperBound)
        return milliseconds << bits | (low & (1 << bits - 1))
    }

    static func time(_ number: Int64) -> Timestamp { Timestamp(milliseconds: number >> bits) }
}
