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
    /// - Parameters:
    ///   - search: a part of the URL, or empty.
    ///   - includesPrivate: whether those of requests that carried credentials are among them.
    /// - Throws: as ``list(_:_:)``.
    package func rememberedFailures(
        search: String = "", includesPrivate: Bool = true, offset: Int = 0, limit: Int
    ) throws(ImageError) -> (total: Int, failures: [ListedFailure]) {
        let wanted = max(0, offset)..<max(0, offset) + max(0, limit)
        return try readIndex { (database) throws(IndexDatabase.Failure) in
            var found: [ListedFailure] = []
            var total = 0
            try database.run(
                "SELECT id, low, url, code, until FROM failures "
                    + "WHERE until > ?1 AND (?2 = '' OR instr(url, ?2) > 0) ORDER BY since DESC, id",
                [.integer(time.now.milliseconds), .text(search)]
            ) { row in
                let hash = CacheKey.Hash(id: row.integer(0), low: row.integer(1))
                // Only a request that carried credentials has another key than its URL's.
                if !includesPrivate, CacheKey(url: row.text(2) ?? "").hash != hash { return true }
                if wanted.contains(total) {
                    found.append(
                        ListedFailure(
                            hash: hash, url: row.text(2) ?? "", code: row.text(3) ?? "",
                            until: Timestamp(milliseconds: row.integer(4))))
                }
                total += 1
                return true
            }
            return (total, found)
        }
    }
}
