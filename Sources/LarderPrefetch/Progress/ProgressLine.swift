import LarderWorkers

/// What the progress line says, from counts and times: a plain value, told what time it is.
package struct ProgressLine: Sendable {
    /// Rows that there will be; nil where nobody knows.
    package var expected: Int?
    private let begin: Double
    private var samples: [(time: Double, rows: Int, bytes: Int)] = []
    /// Rates are means over so many seconds.
    private static let span = 5.0

    package init(expected: Int? = nil, begin: Double) {
        self.expected = expected
        self.begin = begin
        samples = [(begin, 0, 0)]
    }

    /// Takes note of what is done at `now`, in seconds.
    package mutating func note(_ tally: Tally, now: Double) {
        samples.append((now, tally.total, tally.bytes))
        while samples.count > 2, now - samples[1].time >= Self.span { samples.removeFirst() }
    }

    /// Rows and bytes a second, lately.
    package var rates: (rows: Double, bytes: Double) {
        guard let first = samples.first, let last = samples.last, last.time > first.time else { return (0, 0) }
        let seconds = last.time - first.time
        return (Double(last.rows - first.rows) / seconds, Double(last.bytes - first.bytes) / seconds)
    }

    /// Seconds until everything is done, by the rate of late.
    package var remaining: Double? {
        guard let expected, let last = samples.last, rates.rows > 0 else { return nil }
        return Double(max(0, expected - last.rows)) / rates.rows
    }

    /// The line for a terminal of `width` columns.
    package func text(_ tally: Tally, underWay: Int, width: Int, paint: (String, String) -> String) -> String {
        let rates = rates
        let done = expected.map { "\(Amount.count(tally.total))/\(Amount.count($0))" } ?? Amount.count(tally.total)
        var parts = [done, "\(Amount.count(Int(rates.rows.rounded())))/s"]
        if rates.bytes > 0 { parts.append("\(Amount.bytes(Int(rates.bytes)))/s") }
        if let remaining { parts.append("ETA \(Amount.time(remaining))") }
        if underWay > 0 { parts.append("\(underWay) under way") }
        var plain = parts.joined(separator: "  ")
        var failures = ""
        if tally.failure > 0 {
            let codes = tally.sortedErrors.prefix(3).map { "\($0.count) \($0.code)" }.joined(separator: ", ")
            failures = "  \(Amount.count(tally.failure)) failed (\(codes))"
        }
        if let expected, expected > 0 {
            let room = width - plain.count - failures.count - 4
            if room >= 8 { plain = bar(Double(tally.total) / Double(expected), min(room, 30)) + "  " + plain }
        }
        let room = width - 1 - plain.count
        if room < 0 { return String(plain.prefix(max(0, width - 1))) }
        return plain + paint(String(failures.prefix(room)), "red")
    }

    /// The line where there is no terminal: no bar, nothing that moves.
    package func plainText(_ tally: Tally) -> String {
        let done = expected.map { "\(tally.total) of \($0)" } ?? "\(tally.total)"
        var text = "\(done) done, \(Amount.decimal(rates.rows, places: 1)) rows/s, \(Amount.bytes(Int(rates.bytes)))/s"
        if let remaining { text += ", \(Amount.time(remaining)) to go" }
        if tally.failure > 0 {
            text += ", \(tally.failure) failed ("
            text += tally.sortedErrors.map { "\($0.count) \($0.code)" }.joined(separator: ", ") + ")"
        }
        return text
    }

    private func bar(_ part: Double, _ width: Int) -> String {
        let filled = Int((max(0, min(1, part)) * Double(width)).rounded(.down))
        return String(repeating: "█", count: filled) + String(repeating: "░", count: width - filled)
    }
}
