import Glibc

/// An entry, found and checked: lengths, version, metadata and key hold; the payload is checked while it is read.
///
/// It owns its descriptor, so that it goes on being readable after the entry was replaced or evicted. Safe to use
/// from any thread; the calls that read block.
package final class StoredEntry: Sendable {
    package let key: CacheKey
    /// As stored, or for a variant that of its source where it is still there.
    package let freshness: StoredFreshness
    /// False where the payload could not be kept: it is readable as long as this object lives, and not after.
    package let isStored: Bool
    /// Of what a variant was made of, where that is still there.
    package let original: ImageHeader?
    let tail: EntryTail
    private let backing: Backing
    private let volume: Volume
    private let base: StoredEntry?

    enum Backing: Sendable {
        case file(Int32)
        case memory([UInt8])
    }

    init(
        key: CacheKey, tail: EntryTail, backing: Backing, isStored: Bool,
        freshness: StoredFreshness? = nil, volume: Volume
    ) {
        self.key = key
        self.tail = tail
        self.backing = backing
        self.isStored = isStored
        self.freshness = freshness ?? tail.freshness
        self.volume = volume
        original = nil
        base = nil
    }

    /// A variant with the freshness of its source; `base` is kept, because the descriptor is its.
    init(_ base: StoredEntry, of source: StoredEntry) {
        key = base.key
        tail = base.tail
        backing = base.backing
        isStored = base.isStored
        freshness = source.freshness
        original = source.header
        volume = base.volume
        self.base = base
    }

    deinit {
        if base == nil, case .file(let descriptor) = backing { volume.directory.fileSystem.close(descriptor) }
    }

    /// Where the entry lies below the cache directory: `ab/cdef…`.
    package var file: String { key.file }
    package var header: ImageHeader? { tail.header }
    /// 32 bytes.
    package var sha256: [UInt8] { tail.sha256 }
    package var payloadLength: Int { Int(tail.payloadLength) }
    package var storedAt: Timestamp { tail.storedAt }
    package var responseTime: Timestamp { tail.responseTime }
    package var requestTime: Timestamp { tail.requestTime }
    package var status: Int { tail.status }
    package var isPrivate: Bool { tail.isPrivate }
    package var source: EntryMetadata.VariantSource? { tail.source }

    /// For sendfile: a descriptor whose first ``payloadLength`` bytes are the image, open as long as this object
    /// lives. nil where the payload is held in memory.
    package var descriptor: Int32? {
        if case .file(let descriptor) = backing { descriptor } else { nil }
    }

    /// A look, again and again, at whether this very file still stands under the entry's name: false once it was
    /// replaced or removed, by whatever process. It keeps no descriptor. nil where the entry is no file.
    package func placeCheck() -> (@Sendable () -> Bool)? {
        let fileSystem = volume.directory.fileSystem
        guard isStored, case .file(let descriptor) = backing, let status = try? fileSystem.status(of: descriptor) else {
            return nil
        }
        return { [volume, hash = key.hash] in
            let found = EntryName.withPath(hash) { path in
                try? volume.directory.fileSystem.status(of: path, in: volume.directory.root)
            }
            guard let found else { return false }
            return found.isSame(as: status) && found.size == status.size && found.modified == status.modified
        }
    }

    /// Everything that is stored beside the payload.
    ///
    /// - Throws: ``ImageError/corrupt(_:)`` where the JSON part cannot be read.
    package func metadata() throws(ImageError) -> EntryMetadata { try tail.metadata() }

    /// The image's bytes, checked.
    ///
    /// - Throws: ``ImageError/corrupt(_:)`` where the checksum does not hold or the file was cut: the entry is set
    ///   aside and the next look-up is a miss. ``ImageError/cacheUnavailable(_:)`` where it cannot be read.
    package func payload() throws(ImageError) -> [UInt8] {
        guard case .file(let descriptor) = backing, tail.wholeFile == nil else {
            return try withPayload { Array($0) }
        }
        var failure: SystemError?
        let bytes = [UInt8](unsafeUninitializedCapacity: payloadLength) { buffer, count in
            do throws(SystemError) {
                let room = UnsafeMutableRawBufferPointer(start: buffer.baseAddress, count: payloadLength)
                count = try volume.fileSystem.read(descriptor, into: room, at: 0)
            } catch {
                failure = error
            }
        }
        if let failure { throw unreadable(failure) }
        try bytes.withRawBytes { (bytes) throws(ImageError) in try check(bytes) }
        return bytes
    }

    /// The image's bytes, checked, for the time of a call: faster than ``payload()``, for whoever need not keep them.
    ///
    /// - Throws: as ``payload()``, and what `body` throws.
    package func withPayload<Result>(
        _ body: (UnsafeRawBufferPointer) throws(ImageError) -> Result
    ) throws(ImageError) -> Result {
        switch backing {
        case .memory(let held): return try held.withRawBytes(body)
        case .file(let descriptor):
            let held = if let whole = tail.wholeFile { whole } else { try read(descriptor) }
            return try held.with { (bytes) throws(ImageError) in
                let payload = UnsafeRawBufferPointer(rebasing: bytes.prefix(payloadLength))
                try check(payload)
                return try body(payload)
            }
        }
    }

    private func read(_ descriptor: Int32) throws(ImageError) -> HeldBytes {
        do throws(SystemError) {
            return try HeldBytes(capacity: payloadLength) { (room) throws(SystemError) in
                try volume.fileSystem.read(descriptor, into: room, at: 0)
            }
        } catch {
            throw unreadable(error)
        }
    }

    private func check(_ payload: UnsafeRawBufferPointer) throws(ImageError) {
        guard payload.count == payloadLength else { throw setAside("length") }
        guard EntryFormat.checksum(payload) == tail.payloadChecksum else { throw setAside("checksum") }
    }

    /// Reads the payload through and checks it without holding it.
    ///
    /// - Throws: as ``payload()``.
    package func verifyPayload() throws(ImageError) {
        guard case .file(let descriptor) = backing else { return }
        let checksum = PayloadChecksum()
        var failure: SystemError?
        var offset: Int64 = 0
        withUnsafeTemporaryAllocation(byteCount: 128 << 10, alignment: 64) { buffer in
            do throws(SystemError) {
                while offset < tail.payloadLength {
                    let wanted = Int(min(Int64(buffer.count), tail.payloadLength - offset))
                    let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
                    let count = try volume.directory.fileSystem.read(descriptor, into: part, at: offset)
                    if count == 0 { return }
                    checksum.update(UnsafeRawBufferPointer(rebasing: part[..<count]))
                    offset += Int64(count)
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw unreadable(failure) }
        guard offset == tail.payloadLength, checksum.value == tail.payloadChecksum else {
            throw setAside("checksum")
        }
    }

    private func unreadable(_ error: SystemError) -> ImageError {
        .cacheUnavailable(.init("cannot read the cache entry \(file) (\(error))", url: key.url))
    }

    private func setAside(_ what: String) -> ImageError {
        if isStored, case .file(let descriptor) = backing { volume.setAside(key.hash, descriptor) }
        return .corrupt(.init("the cache entry \(file) is damaged (\(what)); it was set aside", url: key.url))
    }
}

extension StoredEntry {
    /// What to draw until the picture is there, where it is kept beside it. Reads nothing: the metadata are at hand.
    package var placeholder: ImagePlaceholder? {
        guard let text = tail.text(ofMember: EntryMetadata.Extra.thumbHash), let hash = ThumbHash(base64: text) else {
            return nil
        }
        let color = tail.text(ofMember: EntryMetadata.Extra.color).flatMap(ImageColor.init(hex:))
        return ImagePlaceholder(thumbHash: hash, color: color ?? hash.averageColor)
    }
}
