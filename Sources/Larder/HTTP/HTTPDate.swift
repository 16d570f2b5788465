/// Dates in header fields (RFC 9110 §5.6.7): read in all three formats, written in the first.
///
/// Strict in what stands where, but without regard to case, as RFC 9111 §4.2 asks of caches. A zone other than
/// GMT is invalid. Written without DateFormatter, which costs tens of microseconds a date.
package enum HTTPDate {
    /// The point of time, or nil where the text is none of the three formats or no date of the calendar.
    ///
    /// - Parameter now: decides the century of the two-digit years of RFC 850: more than 50 years ahead is past.
    package static func parse(_ text: String, now: Timestamp) -> Timestamp? {
        var text = text
        return text.withUTF8 { bytes in
            var reader = Reader(bytes: bytes)
            guard let name = reader.weekday() else { return nil }
            if reader.skip(UInt8(ascii: ",")) {
                guard reader.skip(UInt8(ascii: " ")) else { return nil }
                return name == .long ? reader.rfc850(now) : reader.imfFixdate()
            }
            return name == .short && reader.skip(UInt8(ascii: " ")) ? reader.asctime() : nil
        }
    }

    /// The date as IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT`. Held within the years 0 to 9999.
    package static func format(_ time: Timestamp) -> String {
        let earliest: Int64 = -62_167_219_200
        let latest: Int64 = 253_402_300_799
        let total = min(max(floorDivide(time.milliseconds, 1000), earliest), latest)
        let days = floorDivide(total, 86_400)
        let second = Int(total - days * 86_400)
        let (year, month, day) = civil(days: days)
        let weekday = Int((days % 7 + 11) % 7)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(29)
        func number(_ value: Int, _ digits: Int) {
            var divisor = digits == 4 ? 1000 : 10
            while divisor > 0 {
                bytes.append(48 + UInt8(value / divisor % 10))
                divisor /= 10
            }
        }
        bytes += weekdays[weekday].utf8.prefix(3)
        bytes += ", ".utf8
        number(day, 2)
        bytes += " \(months[month - 1]) ".utf8
        number(Int(year), 4)
        bytes.append(UInt8(ascii: " "))
        for (value, separator) in [(second / 3600, ":"), (second / 60 % 60, ":"), (second % 60, " GMT")] {
            number(value, 2)
            bytes += separator.utf8
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static let weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static let weekdayTriples = weekdays.map(triple)
    private static let monthTriples = months.map(triple)

    /// The first three letters of a name, in lower case, as one number.
    private static func triple(_ name: String) -> UInt32 {
        name.utf8.prefix(3).reduce(0) { $0 << 8 | UInt32($1 | 0x20) }
    }

    private static func floorDivide(_ value: Int64, _ by: Int64) -> Int64 {
        value / by - (value % by < 0 ? 1 : 0)
    }

    /// Days since 1970-01-01 of a date of the Gregorian calendar.
    private static func days(year: Int64, month: Int, day: Int) -> Int64 {
        // Years begin in March, so that the leap day is the last of a year.
        let year = month <= 2 ? year - 1 : year
        let era = floorDivide(year, 400)
        let yearOfEra = year - era * 400
        let dayOfYear = Int64((153 * ((month + 9) % 12) + 2) / 5 + day - 1)
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(days: Int64) -> (year: Int64, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        )
    }

    private static func timestamp(
        year: Int64, month: Int, day: Int, time: (hour: Int, minute: Int, second: Int)
    ) -> Timestamp? {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        guard day >= 1, day <= lengths[month - 1] else { return nil }
        let seconds = time.hour * 3600 + time.minute * 60 + time.second
        return Timestamp(milliseconds: (days(year: year, month: month, day: day) * 86_400 + Int64(seconds)) * 1000)
    }

    private struct Reader {
        let bytes: UnsafeBufferPointer<UInt8>
        var at = 0

        init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

        var isAtEnd: Bool { at == bytes.count }

        mutating func skip(_ byte: UInt8) -> Bool {
            guard at < bytes.count, bytes[at] == byte else { return false }
            at += 1
            return true
        }

        enum Name { case short, long }

        /// Skips a day's name.
        mutating func weekday() -> Name? {
            let start = at
            while at < bytes.count, bytes[at] | 0x20 >= 97, bytes[at] | 0x20 <= 122 { at += 1 }
            guard let begin = triple(start), let index = weekdayTriples.firstIndex(of: begin) else { return nil }
            if at - start == 3 { return .short }
            let name = weekdays[index]
            return at - start == name.utf8.count && matches(name, start, at - start) ? .long : nil
        }

        /// The three bytes there, in lower case, as one number.
        private func triple(_ start: Int) -> UInt32? {
            guard start + 3 <= bytes.count else { return nil }
            return bytes[start..<start + 3].reduce(0) { $0 << 8 | UInt32($1 | 0x20) }
        }

        private func matches(_ name: String, _ start: Int, _ count: Int) -> Bool {
            guard count <= name.utf8.count, start + count <= bytes.count else { return false }
            return zip(name.utf8, bytes[start..<start + count]).allSatisfy { $0 | 0x20 == $1 | 0x20 }
        }

        mutating func number(_ digits: Int) -> Int? {
            guard at + digits <= bytes.count else { return nil }
            var value = 0
            for byte in bytes[at..<at + digits] {
                guard byte >= 48, byte <= 57 else { return nil }
                value = value * 10 + Int(byte - 48)
            }
            at += digits
            return value
        }

        mutating func month() -> Int? {
            guard let begin = triple(at), let index = monthTriples.firstIndex(of: begin) else { return nil }
            at += 3
            return index + 1
        }

        mutating func time() -> (hour: Int, minute: Int, second: Int)? {
            guard let hour = number(2), hour < 24, skip(UInt8(ascii: ":")), let minute = number(2), minute < 60,
                skip(UInt8(ascii: ":")), let second = number(2), second <= 60
            else { return nil }
            return (hour, minute, second)
        }

        mutating func gmt() -> Bool {
            guard skip(UInt8(ascii: " ")), matches("GMT", at, 3) else { return false }
            at += 3
            return isAtEnd
        }

        /// `06 Nov 1994 08:49:37 GMT`
        mutating func imfFixdate() -> Timestamp? {
            guard let day = number(2), skip(UInt8(ascii: " ")), let month = month(), skip(UInt8(ascii: " ")),
                let year = number(4), skip(UInt8(ascii: " ")), let time = time(), gmt()
            else { return nil }
            return timestamp(year: Int64(year), month: month, day: day, time: time)
        }

        /// `06-Nov-94 08:49:37 GMT`
        mutating func rfc850(_ now: Timestamp) -> Timestamp? {
            guard let day = number(2), skip(UInt8(ascii: "-")), let month = month(), skip(UInt8(ascii: "-")),
                let short = number(2), skip(UInt8(ascii: " ")), let time = time(), gmt()
            else { return nil }
            let thisYear = min(max(civil(days: floorDivide(now.milliseconds, 86_400_000)).year, 0), 9999)
            var year = thisYear - thisYear % 100 + Int64(short)
            if year > thisYear + 50 { year -= 100 } else if year <= thisYear - 50 { year += 100 }
            return timestamp(year: year, month: month, day: day, time: time)
        }

        /// `Nov  6 08:49:37 1994`
        mutating func asctime() -> Timestamp? {
            guard let month = month(), skip(UInt8(ascii: " ")),
                let day = skip(UInt8(ascii: " ")) ? number(1) : number(2),
                skip(UInt8(ascii: " ")), let time = time(), skip(UInt8(ascii: " ")), let year = number(4), isAtEnd
            else { return nil }
            return timestamp(year: Int64(year), month: month, day: day, time: time)
        }
    }
}
