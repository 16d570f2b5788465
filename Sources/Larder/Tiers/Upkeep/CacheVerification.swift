/// What reading and checking everything found.
package struct CacheVerification: Sendable, Hashable {
    package struct Finding: Sendable, Hashable {
        /// Below the cache directory.
        package var file: String
        package var problem: String
        /// Set aside or removed.
        package var isRepaired: Bool
    }

    /// Entries that are whole.
    package var whole = 0
    package var bytes: Int64 = 0
    package var damaged = 0
    /// Of a version that this build does not know; left alone.
    package var unknownVersion = 0
    package var unreadable = 0
    /// Temporary files of processes that have ended.
    package var leftovers = 0
    /// Files in our folders that are not ours; never touched.
    package var foreign = 0
    /// Folders whose bytes or count in the usage file were not those of their files.
    package var wrongCounts = 0
    /// Whether it went to its end.
    package var isComplete = false

    /// Nothing but whole entries.
    package var isSound: Bool { isComplete && damaged == 0 && unreadable == 0 && leftovers == 0 && wrongCounts == 0 }
}

extension DiskTier {
    /// Reads and checks every entry from its first byte to its last. Safe while others use the directory.
    ///
    /// - Parameters:
    ///   - repair: sets damaged entries aside, removes leftovers, counts anew and compares the index with the files.
    ///   - progress: called for every entry; answers whether to go on.
    ///   - found: called for every finding.
    package func verify(
        repair: Bool, progress: UpkeepProgress.Report = { _ in true },
        found: (CacheVerification.Finding) -> Void = { _ in }
    ) -> CacheVerification {
        let volume = volume
        var result = CacheVerification()
        var state = UpkeepProgress(done: 0, total: volume.ledger.lastTotal.map { Int($0.count) }, bytes: 0)
        for folder in 0..<256 {
            guard verify(folder, volume, repair, &result, &state, progress, found) else { return result }
        }
        let leftovers = volume.removeDeadTemporaries(removes: repair)
        result.leftovers = leftovers.count
        for name in leftovers {
            found(.init(file: "tmp/\(name)", problem: "left behind by a process that ended", isRepaired: repair))
        }
        if repair { volume.index.reconcile() }
        result.isComplete = true
        return result
    }

    private func verify(
        _ folder: Int, _ volume: Volume, _ repair: Bool, _ result: inout CacheVerification,
        _ state: inout UpkeepProgress, _ progress: UpkeepProgress.Report, _ found: (CacheVerification.Finding) -> Void
    ) -> Bool {
        let name = EntryName.folderName(folder)
        let items: [FolderItem]
        do throws(SystemError) {
            // What cannot be written is not counted either, but read.
            items =
                try volume.directory.readOnlyReason != nil
                ? volume.directory.entries(in: folder)
                : volume.ledger.change { (change) throws(SystemError) in
                    let before = change.page
                    let items = try change.recount(folder)
                    if before.isKnown(folder), before.record(folder) != change.page.record(folder) {
                        result.wrongCounts += 1
                        found(.init(file: name, problem: "its files were counted wrong", isRepaired: true))
                    }
                    return items
                }
        } catch {
            result.unreadable += 1
            found(.init(file: name, problem: "\(error)", isRepaired: false))
            return true
        }
        result.foreign += volume.foreignNames(in: folder, found)
        let check = EntryCheck(fileSystem: fileSystem)
        for item in items {
            state.done += 1
            let file = "\(name)/\(item.hash.description.dropFirst(2))"
            // Gone meanwhile: evicted or replaced, not damaged.
            guard let descriptor = try? volume.open(item.hash) else { continue }
            defer { fileSystem.close(descriptor) }
            switch check.check(descriptor, hash: item.hash) {
            case .whole(let tail):
                result.whole += 1
                result.bytes += tail.payloadLength
                state.bytes += tail.payloadLength
            case .unknownVersion: result.unknownVersion += 1
            case .unreadable(let error):
                result.unreadable += 1
                found(.init(file: file, problem: "\(error)", isRepaired: false))
            case .damaged(let problem):
                result.damaged += 1
                if repair { volume.setAside(item.hash, descriptor) }
                found(.init(file: file, problem: problem, isRepaired: repair))
            }
            guard progress(state) else { return false }
        }
        return true
    }
}

extension Volume {
    /// Names in a folder that are not ours; reported, never touched.
    fileprivate func foreignNames(in folder: Int, _ found: (CacheVerification.Finding) -> Void) -> Int {
        let name = EntryName.folderName(folder)
        guard let descriptor = try? fileSystem.open(name, in: directory.root, .directory, permissions: 0) else {
            return 0
        }
        defer { fileSystem.close(descriptor) }
        var count = 0
        try? fileSystem.list(descriptor) { entry in
            if EntryName.hash(folder: folder, name: entry) == nil {
                count += 1
                found(.init(file: "\(name)/\(String(cString: entry))", problem: "not ours", isRepaired: false))
            }
            return true
        }
        return count
    }
}
