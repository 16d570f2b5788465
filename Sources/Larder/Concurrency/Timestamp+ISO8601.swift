extension Timestamp {
    /// `2026-01-15T12:00:00.000Z`.
    package var iso8601: String {
        // A formatter of Foundation costs more than the rest of an answer.
        let (days, rest) = Self.split(milliseconds, by: 86_400_000)
        let (year, month, day) = Self.civil(days)
        func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let millis = rest % 1000
        let seconds = rest / 1000
        let padded = millis < 10 ? "00\(millis)" : millis < 100 ? "0\(millis)" : "\(millis)"
        return "\(year)-\(two(month))-\(two(day))T\(two(seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
            + ".\(padded)Z"
    }

    /// As `iso8601`, held within the years that every reader of it knows.
    package var iso8601Held: String {
        min(max(self, Timestamp(milliseconds: 0)), Timestamp(milliseconds: 253_402_300_799_999)).iso8601
    }

    private static func split(_ value: Int64, by unit: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: unit)
        return remainder < 0 ? (quotient - 1, remainder + unit) : (quotient, remainder)
    }

    /// The proleptic Gregorian date of a day since 1970-01-01.
    private static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let (era, dayOfEra) = split(days + 719_468, by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}
