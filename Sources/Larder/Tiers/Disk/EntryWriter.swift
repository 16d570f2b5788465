/// Takes a payload piece by piece and makes it an entry, or leaves nothing.
///
/// What the directory cannot take (no space, read-only, no descriptor left) is held in memory instead, up to the
/// configured size, so that the load goes on; ``StoredEntry/isStored`` tells. Calls block. One caller at a time;
/// dropped without ``commit(_:)`` it is abandoned.
package final class EntryWriter: @unchecked Sendable {
    // Sendable: every mutable field is touched only inside `guarded`.
    private let guarded = Lock(())
    private let volume: Volume
    package let key: CacheKey
    private var descriptor: Int32
    private var name: String
    /// What was appended but not yet written: a small payload goes out in one write with its metadata.
    private var pending: [UInt8] = []
    private var written: Int64 = 0
    /// The payload where the directory cannot take it.
    private var memory: [UInt8]?
    private var digest = SHA256()
    private let checksum = PayloadChecksum()
    private var digestValue: [UInt8]?
    private var isOpen = true
    /// Room was made for this one already.
    private var madeRoom = false
    /// What it continues: the validator to send in `If-Range` and the bytes that are there already.
    package let resumed: Partial?

    private static let pendingLimit = 64 << 10
    /// Room for the metadata, so that they need no other place.
    private static let usualTail = 2 << 10

    /// The beginning of a payload, kept from a transfer that was cut.
    package struct Partial: Sendable, Hashable {
        /// A strong validator (RFC 9110 §8.8.1): an entity tag, or a date that is strong.
        package let validator: String
        package let bytes: Int
        /// The head as it was kept with ``EntryWriter/keepPartial(_:validator:)``.
        package let metadata: EntryMetadata
    }

    /// - Parameter descriptor: of the temporary file `name`; -1 holds the payload in memory from the start.
    init(volume: Volume, key: CacheKey, descriptor: Int32, name: String) {
        self.volume = volume
        self.key = key
        self.descriptor = descriptor
        self.name = name
        resumed = nil
        if descriptor < 0 { memory = [] }
    }

    /// Continues a kept beginning whose payload was read through already.
    init(
        volume: Volume, key: CacheKey, descriptor: Int32, name: String, resumed: Partial,
        digest: consuming SHA256, checksum: PayloadChecksum
    ) {
        self.volume = volume
        self.key = key
        self.descriptor = descriptor
        self.name = name
        self.resumed = resumed
        self.digest = digest
        self.checksum.adopt(checksum)
        written = Int64(resumed.bytes)
    }

    deinit { if isOpen { discard() } }

    /// Bytes of payload so far.
    package var bytes: Int { guarded.withLock { _ in payloadBytes } }

    private var payloadBytes: Int { memory?.count ?? Int(written) + pending.count }

    /// SHA-256 of the payload, 32 bytes. Once asked for, nothing may be appended.
    package var sha256: [UInt8] { guarded.withLock { _ in finalDigest() } }

    private func finalDigest() -> [UInt8] {
        if let digestValue { return digestValue }
        let value = digest.finalize()
        digestValue = value
        return value
    }

    /// Adds bytes behind those so far.
    ///
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where the directory cannot take them and they are too many for
    ///   memory, or the writer has ended.
    package func append(_ piece: UnsafeRawBufferPointer) throws(ImageError) {
        try guarded.withLock { (_) throws(ImageError) in
            guard isOpen, digestValue == nil else { throw ended() }
            digest.update(piece)
            checksum.update(piece)
            guard memory == nil else { return try hold(piece) }
            // A large piece goes out as it is.
            let isLarge = piece.count >= Self.pendingLimit && pending.isEmpty
            if isLarge, (try? volume.fileSystem.write(descriptor, piece, at: written)) != nil {
                written += Int64(piece.count)
                return
            }
            if pending.isEmpty { pending.reserveCapacity(piece.count + Self.usualTail) }
            pending.append(contentsOf: piece)
            guard pending.count >= Self.pendingLimit else { return }
            do throws(SystemError) { try flush() } catch { try fallBack(error) }
        }
    }

    /// Forgets what was appended: the server answered with the whole anew.
    ///
    /// - Throws: as ``append(_:)``.
    package func restart() throws(ImageError) {
        try guarded.withLock { (_) throws(ImageError) in
            guard isOpen else { throw ended() }
            pending.removeAll(keepingCapacity: true)
            digest = SHA256()
            checksum.reset()
            digestValue = nil
            if memory != nil {
                memory = []
                return
            }
            do throws(SystemError) {
                if written > 0 { try volume.fileSystem.truncate(descriptor, to: 0) }
                written = 0
            } catch {
                written = 0
                try fallBack(error)
            }
        }
    }

    /// Gives what was appended so far, in order and in pieces: for those who must see a continued payload from its
    /// first byte.
    ///
    /// - Throws: what `body` throws; ``ImageError/cacheUnavailable(_:)`` where it cannot be read back.
    package func readBack(_ body: (UnsafeRawBufferPointer) throws(ImageError) -> Void) throws(ImageError) {
        try guarded.withLock { (_) throws(ImageError) in
            guard isOpen else { throw ended() }
            if let memory { return try memory.withRawBytes(body) }
            var piece = [UInt8](repeating: 0, count: Int(min(written, 256 << 10)))
            var offset: Int64 = 0
            while offset < written {
                var count = 0
                do throws(SystemError) {
                    try piece.withMutableRawBytes { (buffer) throws(SystemError) in
                        let wanted = UnsafeMutableRawBufferPointer(
                            rebasing: buffer[..<Int(min(Int64(buffer.count), written - offset))])
                        count = try volume.fileSystem.read(descriptor, into: wanted, at: offset)
                    }
                } catch {
                    throw CacheDirectory.unavailable("cannot read back what was written to the cache (\(error))")
                }
                guard count > 0 else { throw CacheDirectory.unavailable("what was written to the cache was cut") }
                try piece.withRawBytes { (bytes) throws(ImageError) in
                    try body(UnsafeRawBufferPointer(rebasing: bytes[..<count]))
                }
                offset += Int64(count)
            }
            try pending.withRawBytes(body)
        }
    }

    private func flush() throws(SystemError) {
        do throws(SystemError) { try write() } catch {
            guard makesRoom(for: 2 * Int64(payloadBytes), error) else { throw error }
            try write()
        }
    }

    /// Once for each payload.
    private func makesRoom(for bytes: Int64, _ error: SystemError) -> Bool {
        guard !madeRoom else { return false }
        madeRoom = true
        return volume.makeRoomOnDevice(for: bytes, error)
    }

    private func write() throws(SystemError) {
        try pending.withRawBytes { (bytes) throws(SystemError) in
            try volume.fileSystem.write(descriptor, bytes, at: written)
        }
        written += Int64(pending.count)
        pending.removeAll(keepingCapacity: true)
    }

    /// Takes the payload into memory after a write failed.
    private func fallBack(_ error: SystemError) throws(ImageError) {
        volume.warn(error, "cannot write to the cache; images load but are not stored")
        let total = payloadBytes
        guard total <= volume.configuration.maximumBytesInMemory else {
            discard()
            throw CacheDirectory.unavailable("the image is too large to be held without the cache (\(error))")
        }
        var held = [UInt8](repeating: 0, count: Int(written))
        var count = 0
        do throws(SystemError) {
            try held.withMutableRawBytes { (buffer) throws(SystemError) in
                count = try volume.fileSystem.read(descriptor, into: buffer, at: 0)
            }
        } catch {
            count = -1
        }
        guard count == held.count else {
            discard()
            throw CacheDirectory.unavailable("cannot read back what was written to the cache (\(error))")
        }
        held.append(contentsOf: pending)
        pending = []
        memory = held
        removeFile()
    }

    private func hold(_ piece: UnsafeRawBufferPointer) throws(ImageError) {
        guard let count = memory?.count, count + piece.count <= volume.configuration.maximumBytesInMemory else {
            discard()
            throw CacheDirectory.unavailable("the image is too large to be held without the cache")
        }
        memory?.append(contentsOf: piece)
    }

    /// Makes the payload the entry of its key: complete and checked, or not at all.
    ///
    /// - Parameter metadata: its key must be the writer's; `sha256` is filled in.
    /// - Throws: ``ImageError/tooLarge(_:)`` where URL and key alone pass the size of the metadata.
    package func commit(_ metadata: EntryMetadata) throws(ImageError) -> StoredEntry {
        try commit(metadata, unknown: [], replacing: nil)
    }

    /// - Parameters:
    ///   - unknown: members of the JSON part to carry over.
    ///   - replacing: the entry that a revalidation confirmed; where another one has taken its place meanwhile, that
    ///     one stays.
    func commit(
        _ metadata: EntryMetadata, unknown: [UInt8], replacing: FileStatus?
    ) throws(ImageError) -> StoredEntry {
        try guarded.withLock { (_) throws(ImageError) in
            guard isOpen else { throw ended() }
            precondition(metadata.key == key, "an entry is committed under the key that it was begun for")
            var metadata = metadata
            metadata.sha256 = finalDigest()
            let (bytes, fits) = try encode(metadata, unknown: unknown)
            let tail: EntryTail
            do throws(EntryTail.Fault) {
                tail = try EntryTail(bytes, fileSize: Int64(payloadBytes + bytes.count))
            } catch {
                discard()
                throw .corrupt(.init("the metadata of a cache entry was not written as it is read (\(error))"))
            }
            if memory == nil, fits {
                let payload = payloadBytes
                do throws(SystemError) {
                    pending.append(contentsOf: bytes)
                    try flush()
                } catch {
                    pending.removeLast(bytes.count)
                    precondition(payloadBytes == payload)
                    try fallBack(error)
                }
            } else if memory == nil {
                do throws(SystemError) { try flush() } catch { try fallBack(error) }
            }
            return finish(tail, fits: fits, replacing: replacing)
        }
    }

    /// The bytes behind the payload, and whether they hold everything. Fields too many to be kept are left out, and
    /// then the entry is not stored.
    private func encode(
        _ metadata: EntryMetadata, unknown: [UInt8]
    ) throws(ImageError) -> (bytes: [UInt8], fits: Bool) {
        func bytes(_ metadata: EntryMetadata, _ unknown: [UInt8]) -> [UInt8]? {
            EntryFormat.encode(
                metadata, payloadLength: Int64(payloadBytes), payloadChecksum: checksum.value,
                storedAt: volume.time.now, cacheTime: volume.cacheTime, unknown: unknown)
        }
        if let whole = bytes(metadata, unknown) { return (whole, true) }
        var bare = metadata
        bare.fields = [:]
        bare.varyFields = [:]
        bare.extra = [:]
        guard let least = bytes(bare, []) else {
            discard()
            throw .tooLarge(.init("the URL is too long to be cached"))
        }
        return (least, false)
    }

    private func finish(_ tail: EntryTail, fits: Bool, replacing: FileStatus?) -> StoredEntry {
        isOpen = false
        if let memory {
            return StoredEntry(key: key, tail: tail, backing: .memory(memory), isStored: false, volume: volume)
        }
        let stored = fits && volume.publish(name, key.hash, descriptor, tail: tail, replacing: replacing)
        if !stored { volume.removeTemporary(name) }
        return StoredEntry(key: key, tail: tail, backing: .file(descriptor), isStored: stored, volume: volume)
    }

    /// Keeps what has come so far, to be continued by ``DiskTier/resume(_:)``, also in a later process.
    ///
    /// - Parameters:
    ///   - metadata: the head of the response that was cut.
    ///   - validator: its strong validator.
    package func keepPartial(_ metadata: EntryMetadata, validator: String) {
        guarded.withLock { _ in
            guard isOpen else { return }
            guard memory == nil, payloadBytes > 0, metadata.key == key else { return discard() }
            var metadata = metadata
            metadata.extra[PartialStore.validatorMember] = validator
            let length = Int64(payloadBytes)
            guard
                let tail = EntryFormat.encode(
                    metadata, kind: .partial, payloadLength: length, payloadChecksum: checksum.value,
                    storedAt: volume.time.now, cacheTime: volume.cacheTime)
            else { return discard() }
            do throws(SystemError) {
                pending.append(contentsOf: tail)
                try flush()
            } catch {
                return discard()
            }
            isOpen = false
            volume.partials.keep(name, key)
            volume.fileSystem.close(descriptor)
        }
    }

    /// Ends without an entry and leaves nothing behind.
    package func abandon() { guarded.withLock { _ in if isOpen { discard() } } }

    private func discard() {
        isOpen = false
        memory = nil
        pending = []
        removeFile()
    }

    private func removeFile() {
        guard descriptor >= 0 else { return }
        volume.removeTemporary(name)
        volume.fileSystem.close(descriptor)
        descriptor = -1
    }

    private func ended() -> ImageError { CacheDirectory.unavailable("the cache entry was ended before") }

    /// Writes the payload of an entry into this one: within the kernel where it can.
    func copyPayload(of entry: StoredEntry) throws(ImageError) {
        try guarded.withLock { (_) throws(ImageError) in
            precondition(payloadBytes == 0)
            // The digest and the checksum are those of the entry: the bytes are not read.
            digestValue = entry.sha256
            checksum.fix(entry.tail.payloadChecksum)
            if memory == nil, let source = entry.descriptor {
                do throws(SystemError) {
                    do throws(SystemError) { written = try copy(source, entry) } catch {
                        guard makesRoom(for: entry.tail.payloadLength, error) else { throw error }
                        written = try copy(source, entry)
                    }
                    return
                } catch {
                    written = 0
                    try fallBack(error)
                }
            }
            let payload = try entry.payload()
            if memory != nil {
                try payload.withRawBytes { (bytes) throws(ImageError) in try hold(bytes) }
            } else {
                pending = payload
            }
        }
    }

    private func copy(_ source: Int32, _ entry: StoredEntry) throws(SystemError) -> Int64 {
        try volume.copy(source, to: descriptor, count: entry.tail.payloadLength)
    }
}
