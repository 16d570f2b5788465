/// What is in a cache directory.
package struct CacheStatistics: Sendable, Hashable {
    package struct Share: Sendable, Hashable {
        package var count = 0
        /// Bytes used on disk.
        package var bytes: Int64 = 0
    }

    package var entries = Share()
    /// By ``ImageFormat``'s name; under an empty name what is no image.
    package var formats: [String: Share] = [:]
    package var variants = Share()
    package var privateEntries = Share()
    /// Not fresh any more by the wall clock.
    package var stale = Share()
    package var firstStored: Timestamp?
    package var lastStored: Timestamp?
    package var failures = 0
    package var partials = Share()
    package var quarantined = Share()
    package var maximumBytes: Int64 = 0
    package var maximumCount: Int64 = 0
}

extension DiskTier {
    /// Counts what is there, from the index and the usage file. Safe while others use the directory.
    ///
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where there is no index and none can be made.
    package func statistics() throws(ImageError) -> CacheStatistics {
        let now = time.now
        var result = CacheStatistics()
        result.maximumBytes = configuration.maximumBytes
        result.maximumCount = configuration.maximumCount
        result = try readIndex { [result] (database) throws(IndexDatabase.Failure) in
            var result = result
            func share(_ condition: String, _ values: [IndexDatabase.Value] = []) throws(IndexDatabase.Failure)
                -> CacheStatistics.Share
            {
                var share = CacheStatistics.Share()
                try database.run("SELECT count(*), total(bytes) FROM entries\(condition)", values) { row in
                    share = .init(count: Int(row.integer(0)), bytes: row.integer(1))
                    return false
                }
                return share
            }
            try database.run("SELECT format, count(*), total(bytes) FROM entries GROUP BY format") { row in
                result.formats[row.text(0) ?? ""] = .init(count: Int(row.integer(1)), bytes: row.integer(2))
                return true
            }
            result.entries = try share("")
            result.variants = try share(" WHERE variant IS NOT NULL")
            result.privateEntries = try share(" WHERE private <> 0")
            result.stale = try share(" WHERE expires <= ?", [.integer(now.milliseconds)])
            try database.run("SELECT min(stored), max(stored) FROM entries") { row in
                if !row.isNull(0) {
                    result.firstStored = Timestamp(milliseconds: row.integer(0))
                    result.lastStored = Timestamp(milliseconds: row.integer(1))
                }
                return false
            }
            result.failures = Int(
                try database.number("SELECT count(*) FROM failures WHERE until > ?", [.integer(now.milliseconds)]))
            return result
        }
        let volume = volume
        result.partials = share(of: volume.directory.temporary) { $0.hasSuffix(PartialStore.suffix) }
        if let shelf = try? volume.directory.openFolder(Quarantine.folder, creates: false) {
            defer { fileSystem.close(shelf) }
            result.quarantined = share(of: shelf) { _ in true }
        }
        return result
    }

    private func share(of folder: Int32, _ isCounted: (String) -> Bool) -> CacheStatistics.Share {
        var share = CacheStatistics.Share()
        guard folder >= 0 else { return share }
        try? fileSystem.list(folder) { name in
            if isCounted(String(cString: name)), let status = try? fileSystem.status(of: name, in: folder) {
                share.count += 1
                share.bytes = share.bytes.addingSaturated(volume.directory.bytesOnDisk(status.size))
            }
            return true
        }
        return share
    }
}
