/// Where damaged entries are put, for whoever wants to know why: bounded, the oldest go first.
struct Quarantine {
    static let folder = "quarantine"
    let volume: Volume

    /// Moves the entry there where it is still the file that was opened; a newer one stays.
    func take(_ hash: CacheKey.Hash, _ descriptor: Int32) {
        let fileSystem = volume.fileSystem
        do throws(SystemError) {
            let opened = try fileSystem.status(of: descriptor)
            try volume.directory.withFolder(of: hash, creates: false) { (folder, name) throws(SystemError) in
                guard try fileSystem.status(of: name, in: folder).isSame(as: opened) else { return }
                do throws(SystemError) {
                    let shelf = try volume.directory.openFolder(Self.folder, creates: true)
                    defer { fileSystem.close(shelf) }
                    let room = volume.configuration.quarantine
                    guard opened.size <= room.bytes, room.count > 0 else { throw SystemError(.rename, 0) }
                    BoundedFolder(volume: volume, folder: shelf).makeRoom(for: opened.size, room) { _ in true }
                    try fileSystem.rename(name, in: folder, to: "\(hash)-\(opened.inode)", in: shelf)
                } catch {
                    // A damaged entry that cannot be moved must not stay.
                    try fileSystem.unlink(name, in: folder)
                }
            }
        } catch {
            if !error.isMissing { volume.warn(error, "cannot set a damaged cache entry aside") }
        }
    }
}
