import Larder
import LarderPrefetch

/// What the upkeep commands say, for people.
enum UpkeepText {
    /// `1,200 of 4,000 entries checked, 12 MB`
    static func progress(_ progress: UpkeepProgress, _ what: String) -> String {
        let total = progress.total.map { " of " + Amount.count($0) } ?? ""
        let bytes = progress.bytes > 0 ? ", " + Amount.bytes(Int(clamping: progress.bytes)) : ""
        return "\(Amount.count(progress.done))\(total) entries \(what)\(bytes)"
    }

    /// `1 entry`, `12 entries`
    static func entries(_ count: Int) -> String { count == 1 ? "1 entry" : Amount.count(count) + " entries" }

    static func bytes(_ count: Int64) -> String { Amount.bytes(Int(clamping: count)) }

    /// The day of a time: `2026-01-15`.
    static func day(_ time: Timestamp) -> String { String(time.iso8601Held.prefix(10)) }
}
