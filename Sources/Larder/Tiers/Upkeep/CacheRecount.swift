/// Bytes and count of all entries, counted file by file.
package struct CacheRecount: Sendable, Hashable {
    /// Used on disk.
    package var bytes: Int64 = 0
    package var count: Int64 = 0
    /// Folders that the usage file had wrong; they are right now.
    package var wrongFolders = 0
}

extension DiskTier {
    /// Bytes on disk and count of all entries as this process saw them last; nil while they are not known.
    package var usage: (bytes: Int64, count: Int64)? { volume.ledger.lastTotal }

    /// Counts every entry anew while no other process or thread can change one.
    ///
    /// - Throws: ``ImageError/cacheUnavailable(_:)``.
    package func recount() throws(ImageError) -> CacheRecount {
        do throws(SystemError) {
            return try volume.ledger.change { (change) throws(SystemError) in
                var result = CacheRecount()
                for folder in 0..<256 {
                    let before = change.page
                    _ = try change.recount(folder)
                    let now = change.page.record(folder)
                    if before.isKnown(folder), before.record(folder) != now { result.wrongFolders += 1 }
                    result.bytes += now.bytes
                    result.count += Int64(now.count)
                }
                return result
            }
        } catch {
            throw CacheDirectory.unavailable("cannot count the entries of \(path) (\(error))")
        }
    }

    /// Compares the index with the files: enters what it does not know, drops what has gone. Returns when done, or
    /// where another process does so already.
    package func reconcile() { volume.index.reconcile() }

    /// Waits until the index knows every entry, where it is being made, or cannot be made; false where `progress`
    /// ended the wait.
    package func waitForIndex(progress: UpkeepProgress.Report = { _ in true }) -> Bool {
        let volume = volume
        let total = volume.ledger.lastTotal.map { Int($0.count) }
        return volume.index.complete { progress(UpkeepProgress(done: $0, total: total, bytes: 0)) }
    }
}
