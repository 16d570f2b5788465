import Foundation

/// A point of wall-clock time in whole milliseconds since 1970-01-01T00:00:00Z. Arithmetic saturates.
public struct Timestamp: Sendable, Hashable, Comparable, Codable {
    /// Since 1970-01-01T00:00:00Z.
    public var milliseconds: Int64

    /// A time so many milliseconds after 1970-01-01T00:00:00Z.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }
    /// The same time, to the millisecond.
    public init(_ date: Date) {
        let value = date.timeIntervalSince1970 * 1000
        milliseconds = value.isNaN ? 0 : Int64(exactly: value.rounded()) ?? (value < 0 ? .min : .max)
    }

    /// The same as Foundation has it.
    public var date: Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

    /// Before every other time.
    public static let distantPast = Timestamp(milliseconds: .min)
    /// After every other time.
    public static let distantFuture = Timestamp(milliseconds: .max)
    /// Whether the left comes first.
    public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

    /// This time and `seconds` more (less where negative), held within the range.
    public func adding(seconds: Int64) -> Timestamp {
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        if overflow { return seconds < 0 ? .distantPast : .distantFuture }
        return adding(milliseconds: product)
    }

    /// This time and `milliseconds` more (less where negative), held within the range.
    package func adding(milliseconds more: Int64) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(more)
        return Timestamp(milliseconds: overflow ? (more < 0 ? .min : .max) : sum)
    }

    /// Whole seconds from `earlier` to this time, rounded down; negative where it is later.
    public func seconds(since earlier: Timestamp) -> Int64 {
        let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
        if overflow { return milliseconds < 0 ? .min / 1000 : .max / 1000 }
        return difference.quotientAndRemainder(dividingBy: 1000).quotient - (difference % 1000 < 0 ? 1 : 0)
    }
}
