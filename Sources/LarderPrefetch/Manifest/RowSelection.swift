import Larder
import LarderWorkers

/// Some of the rows of another source.
package final class RowSelection: RowSource {
    private let base: any RowSource
    private let isWanted: @Sendable (Row) -> Bool

    package init(_ base: any RowSource, where isWanted: @escaping @Sendable (Row) -> Bool) {
        self.base = base
        self.isWanted = isWanted
    }

    /// Every `count`-th row, beginning with row `index` (from 1): `--shard 1/4`.
    package convenience init(_ base: any RowSource, shard index: Int, of count: Int) {
        self.init(base) { ($0.number - 1) % count == index - 1 }
    }

    package func stop() { base.stop() }
    package var omission: String? { base.omission }

    package func next(_ count: Int) throws(ManifestError) -> [Row] {
        while true {
            let rows = try base.next(count)
            if rows.isEmpty { return [] }
            let wanted = rows.filter(isWanted)
            if !wanted.isEmpty { return wanted }
        }
    }
}

/// The failed rows of a report: as rows of their own, or by number, to pick them out of their manifest.
package final class FailedRows: RowSource, @unchecked Sendable {
    // Sendable: `next` and `omission` are called by one caller at a time, as RowSource demands; `stop` touches `source`
    // alone.
    private let source: any ByteSource
    private var stream: Box?
    private var line = 0
    /// What ends the report behind the rows that were given.
    private var failure: ManifestError?
    package private(set) var omission: String?

    private final class Box {
        var stream: ByteStream
        init(_ stream: consuming ByteStream) { self.stream = stream }
    }

    /// Lines are no longer than a record and its result may be.
    private static let limit = 4 << 20

    package init(_ source: any ByteSource) { self.source = source }

    package func stop() { source.stop() }

    package func next(_ count: Int) throws(ManifestError) -> [Row] {
        let box: Box
        if let stream {
            box = stream
        } else {
            box = Box(try ByteStream(source))
            stream = box
        }
        if let failure { throw failure }
        var rows: [Row] = []
        while rows.count < count {
            do throws(ManifestError) {
                guard let row = try nextFailure(box) else { break }
                rows.append(row)
            } catch {
                if rows.isEmpty || error == .stopped { throw error }
                failure = error
                break
            }
        }
        return rows
    }

    private func nextFailure(_ box: Box) throws(ManifestError) -> Row? {
        while true {
            line += 1
            switch try box.stream.nextLine(limit: Self.limit) {
            case .end: return nil
            case .tooLong: throw .malformed("the line is too long for a report", place: "line \(line)")
            case .line(let range):
                do throws(JSONCursor.Mistake) {
                    let row = try box.stream.buffer.withUnsafeBufferPointer {
                        (buffer) throws(JSONCursor.Mistake) -> Row? in
                        let bytes = UnsafeBufferPointer(rebasing: buffer[range])
                        return try bytes.allSatisfy(\.isBlank) ? nil : Self.failure(bytes)
                    }
                    if let row { return row }
                } catch {
                    // A report whose writer was killed ends in the midst of a line.
                    guard !box.stream.endsLine(range), line > 1 else {
                        throw .malformed("it is no line of a report: \(error.reason)", place: "line \(line)")
                    }
                    omission = "line \(line) of the report is cut off, and its row left out"
                    return nil
                }
            }
        }
    }

    /// The numbers of all failed rows, sorted. Blocks.
    package func numbers() throws(ManifestError) -> [Int] {
        var numbers: [Int] = []
        while true {
            let rows = try next(1000)
            if rows.isEmpty { return numbers.sorted() }
            numbers += rows.map(\.number)
        }
    }

    /// The row of a line that reports a failure, or nil. A filtered row has not failed.
    private static func failure(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONCursor.Mistake) -> Row? {
        var cursor = JSONCursor(bytes)
        var row = Row(number: 0, url: "")
        var hasFailed = false
        var code = ""
        try cursor.members { (key, cursor) throws(JSONCursor.Mistake) in
            switch key {
            case "row": row.number = try cursor.integer() ?? 0
            case "url": row.url = try cursor.string()
            case "id": row.id = try cursor.string()
            case "phase": hasFailed = try cursor.string() == "failure"
            case "input":
                let range = try cursor.value()
                cursor.appendCompact(range, to: &row.input)
            case "wanted":
                try cursor.members { (key, cursor) throws(JSONCursor.Mistake) in try row.setWant(key, &cursor) }
            case "error":
                try cursor.members { (key, cursor) throws(JSONCursor.Mistake) in
                    if key == "code" { code = try cursor.string() } else { _ = try cursor.value() }
                }
            default: _ = try cursor.value()
            }
        }
        try cursor.expectEnd()
        guard row.number > 0 else { throw cursor.mistake("it has no row number") }
        // What is not known of the record must not make it pass.
        if code == "hash_mismatch", row.sha256 == nil {
            row.problem = "its report does not say which SHA-256 was expected; retry it together with its manifest"
        } else if code == "bad_row" {
            row.problem = "its report calls it a bad row; correct it in its manifest"
        }
        return hasFailed && code != "filtered" ? row : nil
    }
}

extension Array where Element: Comparable {
    /// Whether a sorted array has the number: a million failed rows cost 8 MB this way.
    package func containsSorted(_ number: Element) -> Bool {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] == number { return true }
            if self[middle] < number { low = middle + 1 } else { high = middle }
        }
        return false
    }
}
