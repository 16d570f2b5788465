import Larder
import LarderPrefetch
import LarderWorkers

extension Command {
    static let export = Command(
        name: "export", summary: "the images of a cache directory as plain files", operands: "DIR",
        examples: [
            ("larder export photos", "every image, with a manifest"),
            ("larder export photos --search example.com", "those of one host"),
        ],
        options: EntryFilter.table + [
            .flag("all", short: "a", "thumbnails too", common: true),
            .flag("private", "also what was fetched with credentials", common: true), UpkeepSession.progress,
        ],
        details: [
            "Files are named as in their URLs, with the extension of their format; where a name is taken, a part of "
                + "the entry's name is added. `manifest.jsonl` has a line for each: `url`, `file`, `sha256`, `format`, "
                + "`width`, `height`; it is a manifest for prefetch too. Nothing that is there is overwritten. "
                + "Damaged entries are left out and set aside: exit status 1."
        ],
        run: { arguments, console in try await ExportCommand(arguments, console).run() })
}

/// `larder export`.
struct ExportCommand: Sendable {
    private let arguments: Arguments
    private let console: Console
    private let directory: String
    private let query: EntryQuery

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        guard arguments.operands.count == 1, let directory = arguments.operands.first else {
            throw UsageError("export wants a directory", hint: "larder export DIR")
        }
        self.directory = directory
        var query = EntryQuery.forExport
        try EntryFilter.apply(arguments, to: &query, now: SystemTime().now)
        if try arguments.flag("all") { query.variants = nil }
        query.includesPrivate = try arguments.flag("private")
        self.query = query
    }

    func run() async throws -> ExitStatus {
        let session = try UpkeepSession(arguments, console)
        guard try await session.waitForIndex() else { return session.status(.success) }
        let result = try await session.run("written") { [directory, query] tier, report throws(ImageError) in
            try tier.export(to: directory, query, progress: report)
        }
        await session.close()
        if session.isJSON {
            var line = JSONWriter()
            line.raw("{")
            line.member("files", result.files)
            line.member("bytes", Int(clamping: result.bytes))
            line.member("damaged", result.damaged)
            line.member("complete", result.isComplete)
            line.raw("}\n")
            try console.out(line.bytes)
        } else if !session.isQuiet {
            let files = result.files == 1 ? "1 file" : Amount.count(result.files) + " files"
            let damaged = result.damaged > 0 ? "; \(UpkeepText.entries(result.damaged)) damaged, set aside" : ""
            try console.print("\(files) written to \(directory), \(UpkeepText.bytes(result.bytes))\(damaged)")
        }
        return session.status(result.damaged == 0 ? .success : .someFailed)
    }
}
