/// One record of a manifest: what is to be fetched, checked and made.
package struct Row: Sendable, Hashable {
    /// Counts records from 1.
    package var number: Int
    /// As the manifest has it.
    package var url: String
    package var id: String?
    /// Lower-case hex digits of the image's SHA-256; checked before the image is kept.
    package var sha256: String?
    /// Thumbnails of this row, in vipsthumbnail's syntax; empty: those of the job.
    package var sizes: [String]
    /// Higher goes first, within what has been read ahead. 0 by default.
    package var priority: Int
    /// The manifest's other keys as one JSON object, or empty.
    package var input: [UInt8]
    /// Why the record is no row: it fails as `bad_row`.
    package var problem: String?

    package init(
        number: Int, url: String, id: String? = nil, sha256: String? = nil, sizes: [String] = [], priority: Int = 0,
        input: [UInt8] = [], problem: String? = nil
    ) {
        self.number = number
        self.url = url
        self.id = id
        self.sha256 = sha256
        self.sizes = sizes
        self.priority = priority
        self.input = input
        self.problem = problem
    }

    /// A record that cannot be a row.
    package static func bad(_ number: Int, _ problem: String, url: String = "", id: String? = nil) -> Row {
        Row(number: number, url: url, id: id, problem: problem)
    }
}
