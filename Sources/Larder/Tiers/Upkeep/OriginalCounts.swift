/// How many images there are, their variants left out.
package struct OriginalCounts: Sendable, Hashable {
    package var count = 0
    package var stale = 0
    /// By ``ImageFormat``'s name.
    package var formats: [String: Int] = [:]
}

extension DiskTier {
    /// Counts originals in the index.
    ///
    /// - Throws: as ``list(_:_:)``.
    package func originalCounts(includesPrivate: Bool = true) throws(ImageError) -> OriginalCounts {
        let now = time.now
        let condition = " FROM entries WHERE variant IS NULL" + (includesPrivate ? "" : " AND private = 0")
        return try readIndex { (database) throws(IndexDatabase.Failure) in
            var counts = OriginalCounts()
            try database.run(
                "SELECT format, count(*), total(expires <= ?)\(condition) GROUP BY format",
                [.integer(now.milliseconds)]
            ) { row in
                let count = Int(row.integer(1))
                counts.count += count
                counts.stale += Int(row.integer(2))
                if let format = row.text(0) { counts.formats[format] = count }
                return true
            }
            return counts
        }
    }
}
