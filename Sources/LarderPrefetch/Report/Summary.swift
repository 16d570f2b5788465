import Larder
import LarderWorkers

/// What a job has done, for people and for machines.
package struct Summary: Sendable {
    package var tally: Tally
    package var seconds: Double
    /// A signal ended the job.
    package var isInterrupted: Bool
    /// `--fail-early` ended it.
    package var stoppedEarly: Bool
    /// Images that had to leave the cache again for others of the same run.
    package var evicted = 0
    package var slowest: [(host: String, rows: Int, seconds: Double)] = []

    package init(_ outcome: PrefetchJob.Outcome) {
        tally = outcome.tally
        seconds = outcome.seconds
        isInterrupted = outcome.stop == .interrupted
        stoppedEarly = outcome.stop == .failedEarly
        slowest = outcome.hostTimes.slowest(5)
    }

    package var imagesPerSecond: Double { seconds > 0 ? Double(tally.success) / seconds : 0 }

    /// Whether the failures that count leave no success (3), some (1), or there are none (0). What did not stay in the
    /// cache is no success of a command that was to bring it there.
    package var exitStatus: Int32 {
        let failures = tally.failure - tally.filtered
        return failures + evicted == 0 ? 0 : tally.success == 0 ? 3 : 1
    }

    /// One JSON object on one line.
    package var json: [UInt8] {
        var object = JSONWriter()
        object.raw("{")
        object.member("total", tally.total)
        object.member("success", tally.success)
        object.member("failure", tally.failure)
        object.member("from_network", tally.fromNetwork)
        object.member("from_disk", tally.fromDisk)
        object.member("revalidated", tally.revalidated)
        object.member("duplicates", tally.duplicates)
        object.member("bytes", tally.bytes)
        object.member("seconds", seconds, places: 3)
        object.member("images_per_second", imagesPerSecond, places: 1)
        object.key("errors")
        object.raw("{")
        for (index, (code, count)) in tally.sortedErrors.enumerated() {
            if index > 0 { object.raw(",") }
            object.string(code)
            object.raw(":")
            object.integer(count)
        }
        object.raw("}")
        if evicted > 0 { object.member("evicted", evicted) }
        if isInterrupted { object.member("interrupted", true) }
        if stoppedEarly { object.member("stopped_early", true) }
        object.raw("}\n")
        return object.bytes
    }

    /// A few lines: what came, from where, what failed and why.
    ///
    /// - Parameters:
    ///   - language: of the messages.
    ///   - paint: colours a word; the name is `red`, `green` or `dim`.
    package func text(
        in language: MessageLanguage = .current,
        paint: (_ text: String, _ style: String) -> String = { text, _ in text }
    ) -> [String] {
        let rate =
            imagesPerSecond >= 100 ? Amount.count(Int(imagesPerSecond)) : Amount.decimal(imagesPerSecond, places: 1)
        var lines = [
            "\(Amount.count(tally.success)) of \(Amount.count(tally.total)) images in \(Amount.time(seconds)), "
                + "\(rate) images/s, \(Amount.bytes(tally.bytes)) downloaded"
                + (isInterrupted ? paint("  interrupted", "red") : "")
        ]
        var sources: [String] = []
        for (count, name) in [
            (tally.fromNetwork, "from the network"), (tally.fromDisk, "from the cache"),
            (tally.revalidated, "revalidated"),
        ] where count > 0 { sources.append("\(Amount.count(count)) \(name)") }
        if tally.duplicates > 0 { sources.append("\(Amount.count(tally.duplicates)) rows repeat another") }
        if !sources.isEmpty { lines.append("  " + paint("ok", "green") + "      " + sources.joined(separator: ", ")) }
        if tally.failure > 0 {
            let codes = tally.sortedErrors.map { "\(Amount.count($0.count)) \($0.code)" }
            lines.append("  " + paint("failed", "red") + "  " + codes.joined(separator: ", "))
        }
        if evicted > 0 {
            lines.append(
                "  " + paint("lost", "red")
                    + "    \(Amount.count(evicted)) of them had to leave the cache again, which is "
                    + "too small for all: --max-size makes it larger, where the disk has room")
        }
        for sample in tally.samples {
            lines.append(
                "          row \(sample.row) \(sample.result.code ?? ""): \(Self.shortened(sample.url.harmless))")
            if let message = sample.result.message(in: language) {
                lines.append("          " + paint("  " + message.harmless, "dim"))
            }
        }
        let shown = tally.samples.count
        let more = tally.failure - tally.filtered - (tally.errors["cancelled"] ?? 0) - shown
        if more > 0, shown > 0 { lines.append("          and \(Amount.count(more)) more") }
        return lines
    }

    /// The slowest hosts, a line each.
    package var slowestHosts: [String] {
        slowest.map { "  \($0.host.harmless): \(Amount.time($0.seconds)) a row, \(Amount.count($0.rows)) rows" }
    }

    private static func shortened(_ url: String) -> String { url.count > 100 ? url.prefix(99) + "…" : url }
}

extension RowResult {
    /// The message of a failure, found in its line, where it is English.
    package func message(in language: MessageLanguage) -> String? {
        let bytes = Array("{".utf8) + tail + Array("}".utf8)
        var message: String?
        var detail: String?
        bytes.withUnsafeBufferPointer { bytes in
            var cursor = JSONCursor(bytes)
            try? cursor.members { (key, cursor) throws(JSONCursor.Mistake) in
                guard key == "error" else {
                    _ = try cursor.value()
                    return
                }
                try cursor.members { (key, cursor) throws(JSONCursor.Mistake) in
                    switch key {
                    case "message": message = try cursor.string()
                    case "detail": detail = try cursor.string()
                    default: _ = try cursor.value()
                    }
                }
            }
        }
        return message.map { message in
            let text = language.translating(message)
            guard let detail, !message.contains(detail) else { return text }
            return text + " (\(detail))"
        }
    }
}
