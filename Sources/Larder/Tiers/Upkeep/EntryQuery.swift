/// Which entries, in which order.
package struct EntryQuery: Sendable, Hashable {
    package enum Order: String, Sendable, Hashable, CaseIterable {
        case used, stored, expires, bytes, length, url
    }

    package enum Freshness: Sendable, Hashable {
        case fresh(at: Timestamp)
        case stale(at: Timestamp)
    }

    package var order = Order.used
    package var descending = true
    /// A part of the URL, as it is written there.
    package var search: String?
    /// Exactly this URL.
    package var url: String?
    package var freshness: Freshness?
    package var format: ImageFormat?
    /// true: only variants; false: only originals; nil: both.
    package var variants: Bool?
    /// Whether private entries are shown.
    package var includesPrivate = true
    package var offset = 0
    package var limit: Int?

    package init() {}

    /// What follows `FROM entries`, and the values for its question marks.
    func sql(limited: Bool) -> (text: String, values: [IndexDatabase.Value]) {
        var terms: [String] = []
        var values: [IndexDatabase.Value] = []
        if let search, !search.isEmpty {
            terms.append("instr(url, ?) > 0")
            values.append(.text(search))
        }
        if let url {
            terms.append("url = ?")
            values.append(.text(url))
        }
        switch freshness {
        case .fresh(let time)?:
            terms.append("expires > ?")
            values.append(.integer(time.milliseconds))
        case .stale(let time)?:
            terms.append("expires <= ?")
            values.append(.integer(time.milliseconds))
        case nil: break
        }
        if let format {
            terms.append("format = ?")
            values.append(.text(format.rawValue))
        }
        if let variants { terms.append(variants ? "variant IS NOT NULL" : "variant IS NULL") }
        if !includesPrivate { terms.append("private = 0") }
        var text = terms.isEmpty ? "" : " WHERE " + terms.joined(separator: " AND ")
        guard limited else { return (text, values) }
        let column =
            switch order {
            case .used: "seq"
            case .stored: "stored"
            case .expires: "expires"
            case .bytes: "bytes"
            case .length: "length"
            case .url: "url"
            }
        let direction = descending ? "DESC" : "ASC"
        text += " ORDER BY \(column) \(direction)\(order == .used ? "" : ", seq \(direction)") LIMIT ? OFFSET ?"
        values.append(.integer(Int64(limit ?? -1)))
        values.append(.integer(Int64(max(0, offset))))
        return (text, values)
    }
}

extension DiskTier {
    /// The entries that match, in order, as the index knows them: up to a second behind. Waits for the index where
    /// it is being made. `body` answers whether to go on. Safe while others use the directory.
    ///
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where there is no index and none can be made.
    package func list(_ query: EntryQuery = .init(), _ body: (IndexRow) -> Bool) throws(ImageError) {
        let (text, values) = query.sql(limited: true)
        try readIndex { (database) throws(IndexDatabase.Failure) in
            try database.run("SELECT \(IndexRow.columns) FROM entries\(text)", values) { body(IndexRow($0)) }
        }
    }

    /// How many entries match, whatever the query's limit.
    ///
    /// - Throws: as ``list(_:_:)``.
    package func count(_ query: EntryQuery = .init()) throws(ImageError) -> Int {
        let (text, values) = query.sql(limited: false)
        return try readIndex { (database) throws(IndexDatabase.Failure) in
            Int(try database.number("SELECT count(*) FROM entries\(text)", values))
        }
    }

    func readIndex<Result>(
        _ body: (IndexDatabase) throws(IndexDatabase.Failure) -> Result
    ) throws(ImageError) -> Result {
        let volume = volume
        volume.index.flush()
        _ = volume.index.complete { _ in true }
        guard let result = volume.index.read(body) else {
            throw CacheDirectory.unavailable("the index of \(path) cannot be read or made")
        }
        return result
    }
}
