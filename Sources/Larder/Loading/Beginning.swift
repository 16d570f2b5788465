/// The kept beginning of a cut transfer, taken over to be continued (RFC 9110 §14).
final class Beginning: Sendable {
    let count: Int
    let validator: String
    let metadata: EntryMetadata
    /// Has seen the bytes that are there.
    let inspector: HeaderInspector
    private let writer: Lock<EntryWriter?>

    /// nil where there is none, or it turns out to be no beginning of an image.
    init?(_ disk: DiskTier, _ key: CacheKey, _ limits: ImageLimits, _ filter: ImageFilter?) {
        guard let writer = disk.resume(key) else { return nil }
        var inspector = HeaderInspector(limits: limits, filter: filter)
        guard let partial = writer.resumed,
            (try? writer.readBack { (bytes) throws(ImageError) in try inspector.receive(bytes) }) != nil
        else {
            writer.abandon()
            return nil
        }
        count = partial.bytes
        validator = partial.validator
        metadata = partial.metadata
        self.inspector = inspector
        self.writer = Lock(writer)
    }

    /// The writer, once: whoever has it ends it.
    func take() -> EntryWriter? {
        writer.withLock { writer in
            defer { writer = nil }
            return writer
        }
    }

    /// Whether nobody has taken the writer.
    var isWhole: Bool { writer.withLock { $0 != nil } }

    /// Keeps it for another attempt, unless it was taken. Blocks.
    func putBack() { take()?.keepPartial(metadata, validator: validator) }

    /// The length of the whole, where the 206 continues exactly here; nil where it does not.
    func continues(_ fields: HTTPFields) -> Int? {
        guard let range = fields.first("content-range"), range.lowercased().hasPrefix("bytes ") else {
            return nil
        }
        let parts = range.dropFirst(6).split(separator: "/")
        guard parts.count == 2,
            let start = parts[0].split(separator: "-").first.flatMap({ Int($0.filter { $0 != " " }) }),
            start == count, let total = Int(parts[1]), total > count
        else { return nil }
        if let etag = fields.first("etag"), validator.hasPrefix("\""), etag != validator { return nil }
        return total
    }
}
