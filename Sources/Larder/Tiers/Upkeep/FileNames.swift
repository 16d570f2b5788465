extension DiskTier {
    /// Calls `body` with the hash of each entry that lies in the directory, by the files' names alone: 100,000 take some
    /// 50 ms. Blocks.
    ///
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where the directory cannot be listed.
    package func eachFile(_ body: (CacheKey.Hash) -> Void) throws(ImageError) {
        let directory = volume.directory
        do throws(SystemError) {
            for folder in try directory.folders() {
                do throws(SystemError) {
                    let descriptor = try directory.openFolder(EntryName.folderName(folder), creates: false)
                    defer { fileSystem.close(descriptor) }
                    try fileSystem.list(descriptor) { name in
                        if let hash = EntryName.hash(folder: folder, name: name) { body(hash) }
                        return true
                    }
                } catch {
                    if !error.isMissing { throw error }
                }
            }
        } catch {
            throw CacheDirectory.unavailable("cannot list the cache directory \(path) (\(error))")
        }
    }

    /// Why nothing can be stored in the directory; nil where it can be written.
    package var readOnlyReason: String? { volume.directory.readOnlyReason.map { "\($0)" } }
}
