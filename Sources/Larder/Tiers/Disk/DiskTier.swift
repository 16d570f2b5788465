/// Entries in a directory that any number of processes share. The entry files are the truth; see
/// Documentation/entry-format.md.
///
/// Every call blocks for as long as the file system takes: run them on a ``BlockingExecutor``. Safe to use from
/// any thread. The tier never fails a load: what it cannot store is readable all the same
/// (``StoredEntry/isStored``), and what it cannot read is a miss.
package final class DiskTier: Sendable {
    package let path: String
    package let configuration: DiskTierConfiguration
    let volume: Volume

    /// Opens the cache directory and makes it where it is missing. Reads no entry and no index.
    ///
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where the directory is not ours to use: it holds other files,
    ///   belongs to another user or a newer version, or cannot be made.
    package init(
        directory: String, configuration: DiskTierConfiguration = .init(),
        fileSystem: any FileSystem = PosixFileSystem(), time: any TimeSource = SystemTime()
    ) throws(ImageError) {
        path = directory
        self.configuration = configuration
        let opened = try CacheDirectory.open(directory, configuration, fileSystem)
        volume = Volume(
            directory: opened, configuration: configuration, time: time, warner: Warner(configuration.warnings))
    }

    /// The entry of a key, checked; nil is a miss.
    ///
    /// A variant (``EntryMetadata/source``) whose source is stored with another SHA-256 is a miss; where the source
    /// is stored with the same, the variant has the source's freshness. Pass `source` where it is at hand: without
    /// it the source's entry is opened as well.
    package func entry(for key: CacheKey, source: StoredEntry? = nil) -> StoredEntry? {
        guard let entry = volume.entry(for: key) else { return nil }
        guard let stated = entry.source else { return entry }
        guard let original = source ?? volume.entry(for: CacheKey(url: key.url, partition: key.partition)),
            original.key.hash == stated.key
        else { return entry }
        guard original.sha256 == stated.sha256 else { return nil }
        return volume.entry(entry, fresh: original.freshness)
    }

    /// Begins an entry. Where the directory cannot take it, the writer holds the payload in memory.
    package func begin(_ key: CacheKey) throws(ImageError) -> EntryWriter {
        let temporary = volume.makeTemporary()
        return EntryWriter(
            volume: volume, key: key, descriptor: temporary?.descriptor ?? -1, name: temporary?.name ?? "")
    }

    /// Takes over the kept beginning of a cut transfer of that key: ask for the rest from
    /// ``EntryWriter/Partial/bytes`` on with `Range` and `If-Range`. On 206 go on appending, on 200 call
    /// ``EntryWriter/restart()`` first, on 416 restart and ask anew. nil where there is none.
    package func resume(_ key: CacheKey) -> EntryWriter? { volume.partials.resume(key) }

    /// Stores new metadata for an entry that the server confirmed (304): its payload is copied within the kernel
    /// and the new file takes the old one's place. What this build does not know of the old metadata is kept.
    ///
    /// - Throws: ``ImageError/corrupt(_:)`` or ``ImageError/cacheUnavailable(_:)`` where the payload is not to be
    ///   had any more. Where only storing failed, the entry is given with ``StoredEntry/isStored`` false.
    package func refresh(_ entry: StoredEntry, _ metadata: EntryMetadata) throws(ImageError) -> StoredEntry {
        let writer = try begin(entry.key)
        do throws(ImageError) {
            try writer.copyPayload(of: entry)
            let unknown = (try? MetadataJSON(entry.tail.json).unknown) ?? []
            let status = entry.descriptor.flatMap { try? volume.fileSystem.status(of: $0) }
            return try writer.commit(metadata, unknown: unknown, replacing: entry.isStored ? status : nil)
        } catch {
            writer.abandon()
            throw error
        }
    }

    /// Removes the entry of a key; its variants are of no use without being asked for, and go with time.
    package func remove(_ key: CacheKey) { volume.remove(key.hash) }

    /// Remembers that a key cannot be had until then, so that it is not asked for again and again.
    package func rememberFailure(_ key: CacheKey, code: String, until: Timestamp) {}

    /// A failure that is remembered and still holds.
    package func rememberedFailure(_ key: CacheKey) -> RememberedFailure? { nil }

    /// Writes what the index is behind.
    package func flush() {}

    /// Writes everything in the directory's file system to the device (syncfs), so that it survives a power cut.
    package func sync() {
        do throws(SystemError) {
            try volume.fileSystem.sync(volume.directory.root)
        } catch {
            volume.warn(error, "cannot sync the cache to the device")
        }
    }

    /// Flushes and lets go of the index. Entries may still be read.
    package func close() {}
}

/// A failure that is not to be tried again before its time.
package struct RememberedFailure: Sendable, Hashable {
    /// The code of the ``ImageError``.
    package let code: String
    package let until: Timestamp
}
