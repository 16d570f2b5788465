import Larder
import LarderPrefetch
import LarderWorkers

extension Command {
    static let stats = Command(
        name: "stats", summary: "what a cache directory holds, in numbers",
        examples: [
            ("larder stats", "images, bytes, formats, what is stale"),
            ("larder stats --json --cache DIR", "one JSON object, of another directory"),
        ],
        options: [UpkeepSession.progress],
        details: [
            "Bytes are those used on disk, metadata included and rounded up to the file system's blocks. `stale` are "
                + "entries that are asked for anew before they are used again."
        ],
        run: { arguments, console in try await StatsCommand(arguments, console).run() })
}

/// `larder stats`.
struct StatsCommand: Sendable {
    private let arguments: Arguments
    private let console: Console

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
    }

    func run() async throws -> ExitStatus {
        let session = try UpkeepSession(arguments, console)
        guard try await session.waitForIndex() else { return session.status(.success) }
        let found = try await session.run("counted") { tier, _ throws(ImageError) in try tier.statistics() }
        await session.close()
        if session.isJSON { try console.out(Self.json(found)) } else { try console.print(Self.text(found)) }
        return session.status(.success)
    }

    private static func text(_ found: CacheStatistics) -> String {
        var lines: [(name: String, count: Int, bytes: Int64?)] = [
            ("entries", found.entries.count, found.entries.bytes),
            ("images", found.entries.count - found.variants.count, found.entries.bytes - found.variants.bytes),
            ("thumbnails", found.variants.count, found.variants.bytes),
        ]
        for (format, share) in found.formats.sorted(by: { ($1.value.bytes, $0.key) < ($0.value.bytes, $1.key) }) {
            lines.append(("  " + (format.isEmpty ? "no image" : format), share.count, share.bytes))
        }
        lines += [
            ("stale", found.stale.count, found.stale.bytes),
            ("private", found.privateEntries.count, found.privateEntries.bytes),
            ("cut transfers kept", found.partials.count, found.partials.bytes),
            ("set aside as damaged", found.quarantined.count, found.quarantined.bytes),
            ("failures remembered", found.failures, nil),
        ]
        let texts = lines.map { line in
            let name = line.name + String(repeating: " ", count: max(0, 22 - line.name.count))
            let count = Amount.count(line.count)
            return name + String(repeating: " ", count: max(0, 10 - count.count)) + count
                + (line.bytes.map { "   " + UpkeepText.bytes($0) } ?? "")
        }
        let span = found.firstStored.flatMap { first in found.lastStored.map { (first, $0) } }
        return (texts + [span.map { "stored from \(UpkeepText.day($0)) to \(UpkeepText.day($1))" }].compactMap { $0 })
            .joined(separator: "\n")
    }

    private static func json(_ found: CacheStatistics) -> [UInt8] {
        var line = JSONWriter()
        line.raw("{")
        func share(_ name: StaticString, _ share: CacheStatistics.Share) {
            line.key(name)
            put(share)
        }
        func put(_ share: CacheStatistics.Share) {
            line.raw("{")
            line.member("count", share.count)
            line.member("bytes", Int(clamping: share.bytes))
            line.raw("}")
        }
        line.member("entries", found.entries.count)
        line.member("bytes", Int(clamping: found.entries.bytes))
        share("thumbnails", found.variants)
        share("stale", found.stale)
        share("private", found.privateEntries)
        share("partial", found.partials)
        share("quarantined", found.quarantined)
        line.member("failures", found.failures)
        line.key("formats")
        line.raw("{")
        for (index, item) in found.formats.sorted(by: { $0.key < $1.key }).enumerated() {
            if index > 0 { line.raw(",") }
            line.string(item.key)
            line.raw(":")
            put(item.value)
        }
        line.raw("}")
        line.key("first_stored")
        if let time = found.firstStored { line.string(time.iso8601Held) } else { line.raw("null") }
        line.key("last_stored")
        if let time = found.lastStored { line.string(time.iso8601Held) } else { line.raw("null") }
        line.raw("}\n")
        return line.bytes
    }
}
