/// A small folder that is held within a number of files, bytes and an age.
struct BoundedFolder {
    let volume: Volume
    let folder: Int32

    /// Removes files until one more of `size` bytes fits: first those too old, then the oldest. Only files whose
    /// name passes `isOurs` are counted and removed.
    func makeRoom(for size: Int64, _ room: DiskTierConfiguration.Bounds, isOurs: (String) -> Bool) {
        let fileSystem = volume.fileSystem
        var files: [(name: String, status: FileStatus)] = []
        try? fileSystem.list(folder) { name in
            let text = String(cString: name)
            if isOurs(text), let status = try? fileSystem.status(of: name, in: folder), status.kind == .file {
                files.append((text, status))
            }
            // More than this are not ours, or not made by this: the next call sees the rest.
            return files.count < 4096
        }
        files.sort { $0.status.modified < $1.status.modified }
        let now = volume.time.now
        var count = files.count
        var bytes = files.reduce(0 as Int64) { $0 + min($1.status.size, Int64(1) << 50) }
        for file in files {
            // By the distance, so that a clock that was years ahead keeps nothing for ever.
            let age = abs(max(now.seconds(since: file.status.modified), -Int64.max))
            let fits = count < room.count && bytes <= room.bytes - min(size, room.bytes)
            guard age > room.age || !fits else { continue }
            guard (try? fileSystem.unlink(file.name, in: folder)) != nil else { continue }
            count -= 1
            bytes -= file.status.size
        }
    }
}
