/// Entries in a directory that any number of processes share. The entry files are the truth; see
/// Documentation/entry-format.md.
///
/// Every call blocks for as long as the file system takes: run them on a ``BlockingExecutor``. Safe to use from
/// any thread. The tier never fails a load: what it cannot store is readable all the same
/// (``StoredEntry/isStored``), and what it cannot read is a miss.
package final class DiskTier: Sendable {
    package let path: String
    package let configuration: DiskTierConfiguration
    let fileSystem: any FileSystem
    let time: any TimeSource
    private let warner: Warner
    private let current: Lock<Current>

    private struct Current {
        var volume: Volume
        /// Monotonic nanoseconds after which the directory is looked at again.
        var nextLook: UInt64
    }

    private static let lookInterval: UInt64 = 1_000_000_000

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
        self.fileSystem = fileSystem
        self.time = time
        warner = Warner(configuration.warnings)
        let opened = try CacheDirectory.open(directory, configuration, fileSystem)
        let volume = Volume(directory: opened, configuration: configuration, time: time, warner: warner)
        current = Lock(Current(volume: volume, nextLook: time.monotonic &+ Self.lookInterval))
    }

    var volume: Volume { current.withLock { $0.volume } }

    /// Notices that the directory was deleted, moved or replaced, and goes on with what is at its path: once a
    /// second at most, and at once where a file could not be made.
    private func lookAtDirectory(now urgent: Bool = false) {
        let now = time.monotonic
        let due = current.withLock { current in
            guard urgent || now >= current.nextLook else { return false }
            current.nextLook = now &+ Self.lookInterval
            return true
        }
        guard due, !isInPlace(volume) else { return }
        do throws(ImageError) {
            let opened = try CacheDirectory.open(path, configuration, fileSystem)
            let new = Volume(directory: opened, configuration: configuration, time: time, warner: warner)
            let old = current.withLock { current in
                defer { current.volume = new }
                return current.volume
            }
            old.close()
        } catch {
            warner.warn(
                about: 2, "the cache directory has gone; images load but are not stored (\(error.details.detail))")
        }
    }

    private func isInPlace(_ volume: Volume) -> Bool {
        do throws(SystemError) {
            let root = try fileSystem.openRoot(path)
            defer { fileSystem.close(root) }
            guard try fileSystem.status(of: root).isSame(as: volume.directory.identity) else { return false }
            return try volume.directory.hasItsFolders()
        } catch {
            // A fault of the moment says nothing about the directory.
            return !error.isMissing
        }
    }

    /// The entry of a key, checked; nil is a miss. What is kept under ``CacheKey/ofPrivateAnswer`` is found by the key
    /// that was asked for.
    ///
    /// A variant (``EntryMetadata/source``) whose source is stored with another SHA-256 is a miss; where the source
    /// is stored with the same, the variant has the source's freshness. Pass `source` where it is at hand: without
    /// it the source's entry is opened as well.
    package func entry(for key: CacheKey, source: StoredEntry? = nil) -> StoredEntry? {
        let volume = volume
        guard key.variant != nil else { return find(key, volume) ?? miss() }
        let original = source ?? find(CacheKey(url: key.url, partition: key.partition), volume)
        let found =
            if let original, original.key.partition != key.partition {
                // The original is private: only what was made of it counts.
                volume.entry(for: CacheKey(url: key.url, variant: key.variant, partition: original.key.partition))
            } else if original != nil {
                volume.entry(for: key)
            } else {
                find(key, volume)
            }
        guard let entry = found else { return miss() }
        guard let stated = entry.source, let original, original.key.hash == stated.key else { return entry }
        guard original.sha256 == stated.sha256 else { return nil }
        return StoredEntry(entry, of: original)
    }

    /// What is kept under exactly this key, of an original.
    package func entry(only key: CacheKey) -> StoredEntry? { volume.entry(for: key) ?? miss() }

    private func miss() -> StoredEntry? {
        lookAtDirectory()
        return nil
    }

    private func find(_ key: CacheKey, _ volume: Volume) -> StoredEntry? {
        volume.entry(for: key) ?? key.ofPrivateAnswer.flatMap { volume.entry(for: $0) }
    }

    /// Begins an entry. Where the directory cannot take it, the writer holds the payload in memory.
    package func begin(_ key: CacheKey) throws(ImageError) -> EntryWriter {
        lookAtDirectory()
        var volume = volume
        var temporary = volume.makeTemporary()
        if temporary == nil {
            lookAtDirectory(now: true)
            let other = self.volume
            if other !== volume {
                volume = other
                temporary = volume.makeTemporary()
            }
        }
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
            let volume = volume
            let unknown = (try? MetadataJSON(entry.tail.json).unknown) ?? []
            let status = entry.descriptor.flatMap { try? volume.fileSystem.status(of: $0) }
            return try writer.commit(metadata, unknown: unknown, replacing: entry.isStored ? status : nil)
        } catch {
            writer.abandon()
            throw error
        }
    }

    /// Removes the entry of a key; its variants are of no use without being asked for, and go with time.
    package func remove(_ key: CacheKey) {
        volume.remove(key.hash)
        if let key = key.ofPrivateAnswer { volume.remove(key.hash) }
    }

    /// Removes what is kept under exactly this key.
    package func remove(only key: CacheKey) { volume.remove(key.hash) }

    /// Remembers that a key cannot be had until then, so that it is not asked for again and again.
    package func rememberFailure(_ key: CacheKey, code: String, until: Timestamp) {
        volume.index.failed(key.hash, .init(code: code, url: key.url, since: volume.time.now, until: until))
    }

    /// A failure that is remembered and still holds.
    package func rememberedFailure(_ key: CacheKey) -> RememberedFailure? {
        guard let found = volume.index.failure(key.hash) else { return nil }
        let now = volume.time.now
        // A clock that was ahead when it was noted must not make it last for ever.
        guard now < found.until, found.since <= now.adding(seconds: 60) else { return nil }
        return RememberedFailure(code: found.code, until: found.until)
    }

    /// Writes what the index is behind.
    package func flush() { volume.index.flush() }

    /// Removes what is older than the configured age, oldest first, in batches: by the cache's own clock, which a
    /// wall clock that is set wrong does not move. Done every minute anyway, while a tier is open.
    package func removeAged() {
        guard let age = configuration.maximumAge else { return }
        _ = try? trim(age: age)
    }

    /// Writes everything in the directory's file system to the device (syncfs), so that it survives a power cut.
    package func sync() {
        do throws(SystemError) {
            try volume.fileSystem.sync(volume.directory.root)
        } catch {
            volume.warn(error, "cannot sync the cache to the device")
        }
    }

    /// Flushes and lets go of the index. Entries may still be read.
    package func close() { volume.close() }

    deinit { volume.close() }
}

/// A failure that is not to be tried again before its time.
package struct RememberedFailure: Sendable, Hashable {
    /// The code of the ``ImageError``.
    package let code: String
    package let until: Timestamp
}
