/// A response's body on its way into the disk tier, or into memory where it may not be stored.
///
/// Bytes gather until a batch is full, so that a small image takes one visit to the disk tier. Used by one fetch, one
/// call at a time.
struct FetchBody {
    private let disk: DiskTier?
    private let key: CacheKey
    private let executor: BlockingExecutor
    private let batchBytes: Int
    private var pending: [UInt8] = []
    private var writer: EntryWriter?
    /// Bytes received in all, those of a continued beginning included.
    private(set) var count = 0

    /// - Parameters:
    ///   - disk: nil where the body may not be stored: it is held in memory whole.
    ///   - writer: one with the beginning of the body in it.
    init(disk: DiskTier?, key: CacheKey, executor: BlockingExecutor, batchBytes: Int, writer: EntryWriter? = nil) {
        self.disk = disk
        self.key = key
        self.executor = executor
        self.batchBytes = batchBytes
        self.writer = writer
        count = writer?.resumed?.bytes ?? 0
    }

    mutating func append(_ bytes: [UInt8]) async throws(ImageError) {
        count += bytes.count
        // The first piece is taken as it is.
        if pending.isEmpty { pending = bytes } else { pending.append(contentsOf: bytes) }
        if let disk, pending.count >= batchBytes { try await flush(disk) }
    }

    private mutating func flush(_ disk: DiskTier) async throws(ImageError) {
        let (bytes, key, current) = (pending, key, writer)
        pending = []
        writer = try await executor.run { () throws(ImageError) in
            let writer = if let current { current } else { try disk.begin(key) }
            try writer.appendAll(bytes)
            return writer
        }
    }

    /// Makes it an entry, or the bytes in memory.
    ///
    /// - Parameter sha256: what the payload must hash to; nil for anything.
    /// - Throws: ``ImageError/hashMismatch(_:)``; the entry that was there before stays.
    mutating func commit(_ metadata: EntryMetadata, sha256: [UInt8]?) async throws(ImageError) -> FetchResult {
        let (bytes, current, disk) = (pending, writer, disk)
        writer = nil
        pending = []
        // Where everything is still here, who decodes it need not read it again.
        let whole = current == nil ? bytes : nil
        let payload = try await executor.run { () throws(ImageError) -> FetchResult.Payload in
            do throws(ImageError) {
                guard let disk else { throw .cacheUnavailable(.init("not to be stored")) }
                let writer = if let current { current } else { try disk.begin(metadata.key) }
                try writer.appendAll(bytes)
                if let sha256, writer.sha256 != sha256 {
                    writer.abandon()
                    throw Self.mismatch(writer.sha256, sha256)
                }
                let entry = try writer.commit(metadata)
                // Found first, it would hide the private answer that has taken its place.
                if entry.isStored, entry.key.asked != entry.key { disk.remove(only: entry.key.asked) }
                return .entry(entry)
            } catch {
                // The load goes on without the disk, as long as all of it is in memory.
                guard case .cacheUnavailable = error, let whole else { throw error }
                var metadata = metadata
                metadata.sha256 = SHA256.digest(whole)
                if let sha256, metadata.sha256 != sha256 { throw Self.mismatch(metadata.sha256, sha256) }
                return .memory(whole, metadata)
            }
        }
        var result = FetchResult(payload, source: .network, status: metadata.status)
        result.bytes = whole
        if disk != nil {
            if case .entry(let entry) = payload { result.isUnkept = !entry.isStored } else { result.isUnkept = true }
        }
        return result
    }

    private static func mismatch(_ found: [UInt8], _ expected: [UInt8]) -> ImageError {
        .hashMismatch(.init("SHA-256 is \(found.hex), expected \(expected.hex)"))
    }

    /// Keeps what has come, to be continued later.
    mutating func keep(_ metadata: EntryMetadata, validator: String) async {
        guard let disk else { return await abandon() }
        let (bytes, current) = (pending, writer)
        writer = nil
        pending = []
        await executor.perform {
            guard let writer = current ?? (try? disk.begin(metadata.key)) else { return }
            if (try? writer.appendAll(bytes)) == nil {
                writer.abandon()
            } else {
                writer.keepPartial(metadata, validator: validator)
            }
        }
    }

    /// Leaves nothing behind.
    mutating func abandon() async {
        pending = []
        guard let current = writer else { return }
        writer = nil
        await executor.perform { current.abandon() }
    }
}

extension EntryWriter {
    fileprivate func appendAll(_ bytes: [UInt8]) throws(ImageError) {
        try bytes.withRawBytes { (bytes) throws(ImageError) in try append(bytes) }
    }
}
