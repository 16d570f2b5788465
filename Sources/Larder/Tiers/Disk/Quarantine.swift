/// Where damaged entries are put, for whoever wants to know why: bounded, the oldest go first.
struct Quarantine {
    static let folder = "quarantine"
    let volume: Volume

    /// Moves the entry there where it is still the file that was opened; a newer one stays.
    func take(_ hash: CacheKey.Hash, _ descriptor: Int32) {
        let fileSystem = volume.fileSystem
        let directory = volume.directory
        do throws(SystemError) {
            let opened = try fileSystem.status(of: descriptor)
            let room = volume.configuration.quarantine
            // -1: it cannot be moved there, and a damaged entry must not stay.
            var shelf: Int32 = -1
            if opened.size <= room.bytes, room.count > 0 {
                shelf = (try? directory.openFolder(Self.folder, creates: true)) ?? -1
            }
            defer { if shelf >= 0 { fileSystem.close(shelf) } }
            if shelf >= 0 {
                BoundedFolder(volume: volume, folder: shelf).makeRoom(for: opened.size, room, isOurs: Self.isOurs)
            }
            let taken = try volume.ledger.change { (change) throws(SystemError) in
                try directory.withFolder(of: hash, creates: false) { (folder, name) throws(SystemError) in
                    guard try fileSystem.status(of: name, in: folder).isSame(as: opened) else { return false }
                    try change.reserve([EntryName.folder(hash)])
                    do throws(SystemError) {
                        guard shelf >= 0 else { throw SystemError(.rename, 0) }
                        try fileSystem.rename(name, in: folder, to: "\(hash)-\(opened.inode)", in: shelf)
                    } catch {
                        try fileSystem.unlink(name, in: folder)
                    }
                    change.page.add(
                        EntryName.folder(hash), bytes: -directory.bytesOnDisk(opened.size), count: -1)
                    return true
                }
            }
            if taken {
                volume.index.removed(hash)
                // How long it is kept counts from now.
                try fileSystem.touch(descriptor, at: volume.time.now)
            }
        } catch {
            if !error.isMissing { volume.warn(error, "cannot set a damaged cache entry aside") }
        }
    }

    /// Removes what was set aside.
    func removeAll() {
        guard let shelf = try? volume.directory.openFolder(Self.folder, creates: false) else { return }
        defer { volume.fileSystem.close(shelf) }
        let none = DiskTierConfiguration.Bounds(count: 0, bytes: 0, age: 0)
        BoundedFolder(volume: volume, folder: shelf).makeRoom(for: 0, none, isOurs: Self.isOurs)
    }

    /// `HASH-INODE`.
    private static func isOurs(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        return parts.count == 2 && CacheKey.Hash(hex: parts[0]) != nil && UInt64(parts[1]) != nil
    }
}
