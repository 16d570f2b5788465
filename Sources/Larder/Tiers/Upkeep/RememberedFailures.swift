/// A remembered failure as a list shows it.
package struct ListedFailure: Sendable, Hashable {
    package var hash: CacheKey.Hash
    package var url: String
    /// The code of the ``ImageError``.
    package var code: String
    package var until: Timestamp
}

extension DiskTier {
    /// The failures that still hold, the newest first, and how many there are in all.
    ///
    /// - Parameter search: a part of the URL, or empty.
    /// - Throws: as ``list(_:_:)``.
    package func rememberedFailures(
        search: String = "", offset: Int = 0, limit: Int
    ) throws(ImageError) -> (total: Int, failures: [ListedFailure]) {
        let condition = " FROM failures WHERE until > ?1 AND (?2 = '' OR instr(url, ?2) > 0)"
        let values: [IndexDatabase.Value] = [.integer(time.now.milliseconds), .text(search)]
        return try readIndex { (database) throws(IndexDatabase.Failure) in
            var found: [ListedFailure] = []
            try database.run(
                "SELECT id, low, url, code, until\(condition) ORDER BY since DESC, id LIMIT ?3 OFFSET ?4",
                values + [.integer(Int64(limit)), .integer(Int64(max(0, offset)))]
            ) { row in
                found.append(
                    ListedFailure(
                        hash: .init(id: row.integer(0), low: row.integer(1)), url: row.text(2) ?? "",
                        code: row.text(3) ?? "", until: Timestamp(milliseconds: row.integer(4))))
                return true
            }
            return (Int(try database.number("SELECT count(*)\(condition)", values)), found)
        }
    }
}
