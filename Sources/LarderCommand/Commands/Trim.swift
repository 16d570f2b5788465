import Larder
import LarderPrefetch
import LarderWorkers

extension Command {
    static let trim = Command(
        name: "trim", summary: "removes the least recently used of a cache directory",
        examples: [
            ("larder trim --max-size 500M", "until no more than that is left"),
            ("larder trim --max-age 30d", "what was neither stored nor revalidated for that long"),
        ],
        options: [
            .value("max-size", "BYTES", "to be left on disk", common: true),
            .value("max-count", "N", "entries to be left", common: true),
            .value("max-age", "TIME", "of an entry that is left", common: true), UpkeepSession.progress,
        ],
        details: ["Safe while others use the directory. It does not change the limits that others store under."],
        run: { arguments, console in try await TrimCommand(arguments, console).run() })
}

/// `larder trim`.
struct TrimCommand: Sendable {
    private let arguments: Arguments
    private let console: Console
    private let bytes: Int?
    private let count: Int?
    private let age: Double?

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        bytes = try arguments.bytes("max-size")
        count = try arguments.count("max-count")
        age = try arguments.duration("max-age")
        if bytes == nil, count == nil, age == nil {
            throw UsageError("trim wants a limit", hint: "--max-size 500M, --max-count 10000 or --max-age 30d")
        }
    }

    func run() async throws -> ExitStatus {
        let session = try UpkeepSession(arguments, console)
        guard try await session.waitForIndex() else { return session.status(.success) }
        let (before, gone, after) = try await session.run("removed") {
            [bytes, count, age] (tier, report) throws(ImageError) in
            let before = tier.usage
            let gone = try tier.trim(
                bytes: bytes.map { Int64($0) }, count: count.map { Int64($0) }, age: age.map { Int64($0) },
                progress: report)
            return (before, gone, tier.usage)
        }
        await session.close()
        try Removed(entries: gone, freed: (before?.bytes ?? 0) - (after?.bytes ?? 0), left: after)
            .say(session, console)
        return session.status(.success)
    }
}

/// What `trim` and `clear` say at their end.
struct Removed: Sendable {
    var entries: Int
    /// Bytes on disk, so far as others did not store meanwhile.
    var freed: Int64
    var left: (bytes: Int64, count: Int64)?

    func say(_ session: UpkeepSession, _ console: Console) throws(Console.OutputFailure) {
        if session.isJSON {
            var line = JSONWriter()
            line.raw("{")
            line.member("removed", entries)
            line.member("freed_bytes", Int(clamping: max(0, freed)))
            if let left {
                line.member("entries", Int(clamping: left.count))
                line.member("bytes", Int(clamping: left.bytes))
            }
            line.raw("}\n")
            try console.out(line.bytes)
        } else if !session.isQuiet {
            let rest = left.map {
                "; \(UpkeepText.entries(Int(clamping: $0.count))) left, \(UpkeepText.bytes($0.bytes))"
            }
            try console.print(
                "\(UpkeepText.entries(entries)) removed, \(UpkeepText.bytes(max(0, freed)))" + (rest ?? ""))
        }
    }
}
