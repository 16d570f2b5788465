extension DiskTier {
    /// Removes the least recently used entries until no more than that is left, and what is older than `age`.
    /// Safe while others use the directory.
    ///
    /// - Parameters:
    ///   - bytes: on disk; nil leaves them be.
    ///   - count: nil leaves it be.
    ///   - age: seconds since an entry was stored or revalidated; nil leaves it be.
    /// - Returns: how many entries went.
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where nothing can be removed: the directory is read-only.
    @discardableResult
    package func trim(
        bytes: Int64? = nil, count: Int64? = nil, age: Int64? = nil, progress: UpkeepProgress.Report = { _ in true }
    ) throws(ImageError) -> Int {
        let volume = try writableVolume()
        volume.index.flush()
        _ = volume.index.complete { _ in true }
        // After a start of the machine nothing is believed before it was counted.
        volume.countUnknown()
        let before = volume.ledger.lastTotal
        func goesOn() -> Bool {
            let now = volume.ledger.lastTotal
            let done = max((before?.count ?? 0) - (now?.count ?? 0), 0)
            let freed = max((before?.bytes ?? 0) - (now?.bytes ?? 0), 0)
            return progress(UpkeepProgress(done: Int(done), total: nil, bytes: freed))
        }
        var gone = 0
        if let age {
            gone += volume.remove(olderThan: max(0, age)) {
                volume.index.flush()
                return goesOn()
            }
        }
        if bytes != nil || count != nil {
            gone += volume.trim(bytes: max(0, bytes ?? .max), count: max(0, count ?? .max), flush: true, goesOn)
        }
        volume.index.flush()
        return gone
    }

    /// Removes everything: entries, the beginnings of cut transfers, what was set aside, remembered failures.
    /// Files that are not ours stay. Safe while others use the directory.
    ///
    /// - Returns: how many entries went.
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where nothing can be removed: the directory is read-only.
    @discardableResult
    package func clear(progress: UpkeepProgress.Report = { _ in true }) throws(ImageError) -> Int {
        let volume = try writableVolume()
        var state = UpkeepProgress(done: 0, total: volume.ledger.lastTotal.map { Int($0.count) }, bytes: 0)
        for folder in 0..<256 {
            guard let items = try? volume.directory.entries(in: folder) else { continue }
            var rest = items[...]
            while !rest.isEmpty {
                let batch = rest.prefix(64)
                rest = rest.dropFirst(64)
                state.done += volume.evict(
                    batch.map { EvictionCandidate(hash: $0.hash, order: 0, modified: $0.modified) }, evenUsed: true)
                state.bytes += batch.reduce(0) { $0 + $1.bytes }
                guard progress(state) else { return state.done }
            }
        }
        volume.index.forgetFailures()
        volume.partials.removeAll()
        Quarantine(volume: volume).removeAll()
        volume.index.flush()
        return state.done
    }

    /// Removes the entries of these URLs and all their variants, private ones included, and what else is kept of
    /// them: remembered failures and the beginnings of cut transfers.
    ///
    /// - Parameter urls: as they stand in the keys: normalised.
    /// - Returns: how many entries went.
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where nothing can be removed: the directory is read-only.
    @discardableResult
    package func clear(urls: [String], progress: UpkeepProgress.Report = { _ in true }) throws(ImageError) -> Int {
        let volume = try writableVolume()
        volume.index.flush()
        _ = volume.index.complete { _ in true }
        var state = UpkeepProgress(done: 0, total: nil, bytes: 0)
        for url in urls {
            var hashes: Set<CacheKey.Hash> = [CacheKey(url: url).hash]
            _ = volume.index.read { (database) throws(IndexDatabase.Failure) in
                try database.run("SELECT id, low FROM entries WHERE url=?", [.text(url)]) { row in
                    hashes.insert(CacheKey.Hash(id: row.integer(0), low: row.integer(1)))
                    return true
                }
                try database.run("SELECT id, low FROM failures WHERE url=?", [.text(url)]) { row in
                    hashes.insert(CacheKey.Hash(id: row.integer(0), low: row.integer(1)))
                    return true
                }
            }
            volume.partials.remove(url: url)
            for hash in hashes {
                if volume.exists(hash) {
                    volume.remove(hash)
                    state.done += 1
                }
                volume.index.failed(
                    hash, .init(code: "", url: url, since: volume.time.now, until: .distantPast))
            }
            guard progress(state) else { break }
        }
        volume.index.flush()
        return state.done
    }

    private func writableVolume() throws(ImageError) -> Volume {
        let volume = volume
        if let reason = volume.directory.readOnlyReason {
            throw CacheDirectory.unavailable("nothing can be removed from \(path): it is read-only (\(reason))")
        }
        return volume
    }
}
