extension DiskTier {
    /// The entry of that name, whatever its key; nil is a miss. For those who know an entry by its file alone.
    package func entry(named hash: CacheKey.Hash) -> StoredEntry? {
        let volume = volume
        guard let entry = volume.entry(of: hash), entry.key.hash == hash else { return nil }
        volume.index.used(hash)
        return entry
    }

    /// The same for lists, which are no use of an entry.
    package func peek(named hash: CacheKey.Hash) -> StoredEntry? {
        guard let entry = volume.entry(of: hash), entry.key.hash == hash else { return nil }
        return entry
    }

    /// Removes the entry of that name.
    package func remove(named hash: CacheKey.Hash) { volume.remove(hash) }
}
