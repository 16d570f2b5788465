import LarderWorkers

/// Which work was seen before, and in which row: 20 bytes a slot, so that a million rows cost some 40 MB.
///
/// An open-addressing table with 96 bits of each identity. Identities are cuts of SHA-256: two different ones do
/// not meet.
struct DuplicateIndex: Sendable {
    private var keys: [UInt64] = []
    private var moreKeys: [UInt32] = []
    /// Number of the first row; 0 marks a free slot.
    private var rows: [UInt32] = []
    /// Where the first row's result stands in the log; `noPlace` where it does not.
    private var places: [UInt32] = []
    private(set) var count = 0

    static let noPlace = UInt32.max

    /// What was known before.
    struct Earlier: Equatable {
        var row: Int
        /// Place of the result in the ``OutcomeLog``, or nil.
        var place: UInt32?
    }

    /// Remembers that `row` is the first with this identity, or gives the row that was.
    ///
    /// Rows beyond 2^32 - 1 are not remembered: they are work of their own.
    mutating func insert(_ identity: RowIdentity, row: Int) -> Earlier? {
        if (count + 1) * 4 > keys.count * 3 { grow() }
        let slot = find(identity)
        if rows[slot] != 0 {
            return Earlier(row: Int(rows[slot]), place: places[slot] == Self.noPlace ? nil : places[slot])
        }
        guard let number = UInt32(exactly: row), number > 0 else { return nil }
        keys[slot] = identity.high
        moreKeys[slot] = UInt32(truncatingIfNeeded: identity.low)
        rows[slot] = number
        places[slot] = Self.noPlace
        count += 1
        return nil
    }

    /// Remembers where the result of the first row stands.
    mutating func set(place: UInt32, of identity: RowIdentity) {
        guard !keys.isEmpty else { return }
        let slot = find(identity)
        if rows[slot] != 0 { places[slot] = place }
    }

    /// The slot of the identity, or the free one where it belongs.
    private func find(_ identity: RowIdentity) -> Int {
        let mask = keys.count - 1
        let more = UInt32(truncatingIfNeeded: identity.low)
        var slot = Int(truncatingIfNeeded: identity.high) & mask
        while rows[slot] != 0, keys[slot] != identity.high || moreKeys[slot] != more { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        let old = (keys, moreKeys, rows, places)
        let size = max(1024, keys.count * 2)
        keys = Array(repeating: 0, count: size)
        moreKeys = Array(repeating: 0, count: size)
        rows = Array(repeating: 0, count: size)
        places = Array(repeating: 0, count: size)
        for slot in old.0.indices where old.2[slot] != 0 {
            let identity = RowIdentity(high: old.0[slot], low: UInt64(old.1[slot]), host: "")
            let place = find(identity)
            (keys[place], moreKeys[place], rows[place], places[place]) =
                (old.0[slot], old.1[slot], old.2[slot], old.3[slot])
        }
    }
}
