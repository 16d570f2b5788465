import Larder
import LarderPrefetch
import LarderWorkers

extension Command {
    static let list = Command(
        name: "list", summary: "the images in a cache directory",
        examples: [
            ("larder list --sort size | head", "the largest images"),
            ("larder list --search example.com --state stale", "what is no longer fresh of a host"),
            ("larder list --json --all", "a JSON line for each entry, thumbnails included"),
        ],
        options: EntryFilter.table + [
            .value(
                "sort", "KEY", "used (the last used first), stored, expires, size or url", default: "used",
                choices: Order.allCases.map(\.rawValue), common: true),
            .flag("reverse", short: "r", "the other way round", common: true),
            .value("limit", short: "n", "N", "at most so many", common: true),
            .flag("all", short: "a", "thumbnails too", common: true), UpkeepSession.progress,
        ],
        details: [
            "A line shows the bytes of the image, its width and height as stored, its format, the day it was stored "
                + "and its URL. In JSON `file` is relative to the cache directory, `bytes` are those of the image and "
                + "`disk_bytes` those that the entry takes on disk; what is not known is null.",
            "The list comes from the index, which is at most a second behind other processes; where it was lost it is "
                + "first made anew from the entries.",
        ],
        run: { arguments, console in try await ListCommand(arguments, console).run() })

    /// What `--sort` may be.
    fileprivate enum Order: String, CaseIterable {
        case used, stored, expires, size, url
    }
}

/// `larder list`.
struct ListCommand: Sendable {
    private let arguments: Arguments
    private let console: Console
    private let query: EntryQuery

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        var query = EntryQuery()
        try EntryFilter.apply(arguments, to: &query, now: SystemTime().now)
        switch try arguments.string("sort") {
        case "stored": query.order = .stored
        case "expires": query.order = .expires
        case "size": query.order = .length
        case "url": query.order = .url
        default: query.order = .used
        }
        // Names and dates to come are read forwards, the rest from the greatest on.
        query.descending = ![.url, .expires].contains(query.order)
        if try arguments.flag("reverse") { query.descending.toggle() }
        query.limit = try arguments.integer("limit", in: 0...Int.max)
        if try !arguments.flag("all") { query.variants = false }
        self.query = query
    }

    func run() async throws -> ExitStatus {
        let session = try UpkeepSession(arguments, console)
        guard try await session.waitForIndex() else { return session.status(.success) }
        let reading = try await session.run("listed") {
            [query, console] tier, report throws(ImageError) -> Console.OutputFailure? in
            var lines: [UInt8] = []
            var broken: Console.OutputFailure?
            func put() -> Bool {
                do throws(Console.OutputFailure) { try console.out(lines) } catch { broken = error }
                lines.removeAll(keepingCapacity: true)
                return broken == nil && report(.init(done: 0, total: nil, bytes: 0))
            }
            try tier.list(query) { row in
                lines += session.isJSON ? Self.json(row) : Array((Self.text(row) + "\n").utf8)
                return lines.count < 1 << 16 || put()
            }
            if broken == nil, !lines.isEmpty { _ = put() }
            return broken
        }
        await session.close()
        if let reading { throw reading }
        return session.status(.success)
    }

    /// `812 KB  4000 x 3000  jpeg  2026-01-15  https://…`
    private static func text(_ row: IndexRow) -> String {
        func right(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        func left(_ text: String, _ width: Int) -> String {
            text + String(repeating: " ", count: max(0, width - text.count))
        }
        let size = row.width.flatMap { width in row.height.map { "\(width) x \($0)" } } ?? "-"
        let variant = row.variant.map { " [\($0)]" } ?? ""
        return right(UpkeepText.bytes(row.length), 8) + "  " + right(size, 13) + "  " + left(row.format ?? "-", 4)
            + "  " + UpkeepText.day(row.storedAt) + "  " + (row.url + variant).harmless
            + (row.isPrivate ? " (private)" : "")
    }

    private static func json(_ row: IndexRow) -> [UInt8] {
        var line = JSONWriter()
        line.raw("{")
        line.member("url", row.url)
        line.member("file", row.file)
        line.key("variant")
        if let variant = row.variant { line.string(variant) } else { line.raw("null") }
        line.key("format")
        if let format = row.format { line.string(format) } else { line.raw("null") }
        line.key("width")
        if let width = row.width { line.integer(width) } else { line.raw("null") }
        line.key("height")
        if let height = row.height { line.integer(height) } else { line.raw("null") }
        line.member("bytes", Int(clamping: row.length))
        line.member("disk_bytes", Int(clamping: row.bytes))
        line.member("stored", row.storedAt.iso8601Held)
        line.member("fresh_until", row.expires.iso8601Held)
        line.key("last_used")
        if let time = row.lastUse { line.string(time.iso8601Held) } else { line.raw("null") }
        line.member("private", row.isPrivate)
        line.raw("}\n")
        return line.bytes
    }
}
