import Glibc

/// Compares index and files, folder by folder: counts the files, enters those the index does not know, drops rows
/// whose file has gone. One process at a time; others go on reading and writing meanwhile.
struct Reconciler {
    let writer: IndexWriter
    private var volume: Volume { writer.volume }

    /// Files to enter that are held at once, to be sorted by last use: 40 bytes each.
    private static let limit = 1 << 20
    private static let chunk = 512

    init(writer: IndexWriter) { self.writer = writer }

    /// - Parameter waits: whether another process that does so is waited for.
    func run(waits: Bool) {
        guard volume.directory.readOnlyReason == nil, let held = hold(waits) else { return }
        defer { held.release() }
        // Where another index takes the place of this one meanwhile, this was for nothing.
        let name = writer.name
        var unknown: [FolderItem] = []
        var isWhole = true
        var folder = 0
        while folder < 256 {
            let first = folder
            let items: [FolderItem]
            do throws(SystemError) {
                // Rows are in the order of signed numbers: the upper half of the folders comes before the lower.
                items = try volume.ledger.change { (change) throws(SystemError) in
                    try change.recount(from: &folder, to: first < 128 ? 128 : 256)
                }
            } catch {
                volume.warn(error, "cannot count the cache's files")
                isWhole = false
                // That one is passed over, and those before it are counted next time.
                folder += 1
                continue
            }
            // Without an index the count is still of use.
            guard writer.breathe() || !writer.isStopping else { return }
            isWhole = compare(items, first...folder - 1, &unknown) && isWhole
            if unknown.count >= Self.limit, !adopt(&unknown) { return }
        }
        guard adopt(&unknown) else { return }
        if isWhole, name != nil, name == writer.name { writer.finishReconcile() }
    }

    private func hold(_ waits: Bool) -> LockFile.Held? {
        while true {
            do throws(SystemError) {
                if let held = try volume.locks.tryHold(.reconcile) { return held }
            } catch {
                return nil
            }
            guard waits, writer.breathe() else { return nil }
            usleep(5000)
        }
    }

    /// Adds to `unknown` what the index does not know, and drops rows without a file.
    private func compare(_ items: [FolderItem], _ folders: ClosedRange<Int>, _ unknown: inout [FolderItem]) -> Bool {
        var files: [CacheKey.Hash: FolderItem] = [:]
        files.reserveCapacity(items.count)
        for item in items { files[item.hash] = item }
        var gone: [CacheKey.Hash] = []
        let first = CacheKey.Hash(high: UInt64(folders.lowerBound) << 56, low: 0)
        let last = CacheKey.Hash(high: UInt64(folders.upperBound) << 56 | (1 << 56 - 1), low: 0)
        let known = writer.read { (database) throws(IndexDatabase.Failure) in
            try database.run(
                "SELECT id, low, bytes, modified FROM entries WHERE id BETWEEN ? AND ?",
                [.integer(first.id), .integer(last.id)]
            ) { row in
                let hash = CacheKey.Hash(id: row.integer(0), low: row.integer(1))
                if let file = files[hash], file.bytes == row.integer(2),
                    file.modified.milliseconds == row.integer(3)
                {
                    files[hash] = nil
                } else {
                    gone.append(hash)
                }
                return true
            }
        }
        guard known else { return false }
        unknown.append(contentsOf: files.values)
        guard !gone.isEmpty else { return true }
        return writer.batch { (database) throws(IndexDatabase.Failure) in
            for hash in gone {
                // One that was stored meanwhile has a file by now, and its row comes with its own batch.
                if files[hash] == nil, volume.exists(hash) { continue }
                try database.run(
                    "DELETE FROM entries WHERE id=? AND low=?", [.integer(hash.id), .integer(hash.lowBits)])
            }
        }
    }

    private func adopt(_ unknown: inout [FolderItem]) -> Bool {
        unknown.sort { $0.modified < $1.modified }
        var from = 0
        while from < unknown.count {
            guard writer.breathe() else { return false }
            let to = min(from + Self.chunk, unknown.count)
            guard writer.adopt(Array(unknown[from..<to])) else { return false }
            from = to
        }
        unknown.removeAll()
        return true
    }
}
