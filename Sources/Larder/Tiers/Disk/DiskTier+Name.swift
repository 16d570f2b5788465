extension DiskTier {
    /// The entry of that name, whatever its key; nil is a miss. For those who know an entry by its file alone.
    package func entry(named hash: CacheKey.Hash) -> StoredEntry? {
        let descriptor: Int32
        do throws(SystemError) {
            descriptor = try EntryName.withPath(hash) { (path) throws(SystemError) in
                try volume.fileSystem.open(path, in: volume.directory.root, .read, permissions: 0)
            }
        } catch {
            return nil
        }
        guard let tail = volume.readTail(descriptor, hash: hash), tail.hash == hash, tail.key.hash == hash else {
            volume.fileSystem.close(descriptor)
            return nil
        }
        return StoredEntry(key: tail.key, tail: tail, backing: .file(descriptor), isStored: true, volume: volume)
    }

    /// Removes the entry of that name.
    package func remove(named hash: CacheKey.Hash) { volume.remove(hash) }
}
