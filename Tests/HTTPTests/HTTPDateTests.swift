import Foundation
import Testing

@testable import Larder

@Suite struct HTTPDateTests {
    private let now = Timestamp(milliseconds: 1_768_478_400_000)  // 2026-01-15T12:00:00Z

    @Test(arguments: [
        "Sun, 06 Nov 1994 08:49:37 GMT",
        "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994",
        "sun, 06 nov 1994 08:49:37 gmt",
        "SUNDAY, 06-NOV-94 08:49:37 GMT",
    ])
    func readsAllThreeFormatsWithoutRegardToCase(_ text: String) {
        #expect(HTTPDate.parse(text, now: now)?.milliseconds == 784_111_777_000)
    }

    @Test(arguments: [
        "", "0", "-1", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 +0000",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun, 06  Nov  1994 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun, 06 Nov 1994 08.49.37 GMT",
        "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Wed, 29 Feb 2023 08:49:37 GMT", "Nov, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sunda, 06-Nov-94 08:49:37 GMT", "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
        "Sunday Nov  6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT", "Sun, 06 Nov 99999 08:49:37 GMT", "Sun,", "Sun",
        "Sun, 06 Növ 1994 08:49:37 GMT", "1994-11-06T08:49:37Z", "784111777",
    ])
    func refusesAnythingElse(_ text: String) {
        #expect(HTTPDate.parse(text, now: now) == nil)
    }

    @Test func twoDigitYearsAreAtMostFiftyYearsAhead() {
        func year(_ text: String) -> String? {
            HTTPDate.parse(text, now: now).map { String(HTTPDate.format($0).dropFirst(12).prefix(4)) }
        }
        #expect(year("Thursday, 18-Aug-50 02:01:18 GMT") == "2050")
        #expect(year("Tuesday, 18-Aug-76 02:01:18 GMT") == "2076")
        #expect(year("Thursday, 18-Aug-77 02:01:18 GMT") == "1977")
        #expect(year("Thursday, 18-Aug-00 02:01:18 GMT") == "2000")
    }

    @Test func leapDaysAndLeapSecondsAreDates() {
        #expect(HTTPDate.parse("Thu, 29 Feb 2024 00:00:00 GMT", now: now)?.milliseconds == 1_709_164_800_000)
        #expect(HTTPDate.parse("Tue, 29 Feb 2000 00:00:00 GMT", now: now) != nil)
        #expect(HTTPDate.parse("Thu, 29 Feb 1900 00:00:00 GMT", now: now) == nil)
        #expect(HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT", now: now)?.milliseconds == 1_483_228_800_000)
    }

    @Test func writesWhatItReads() {
        for day in stride(from: Int64(-40_000), to: 80_000, by: 37) {
            let time = Timestamp(milliseconds: (day * 86_400 + day % 86_400 + 86_400) * 1000)
            #expect(HTTPDate.parse(HTTPDate.format(time), now: now) == time)
        }
        #expect(HTTPDate.format(Timestamp(milliseconds: 784_111_777_999)) == "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(HTTPDate.format(Timestamp(milliseconds: -1)) == "Wed, 31 Dec 1969 23:59:59 GMT")
    }

    @Test func theEndsOfTimeAreHeldWithinFourDigits() {
        #expect(HTTPDate.format(.distantFuture) == "Fri, 31 Dec 9999 23:59:59 GMT")
        #expect(HTTPDate.format(.distantPast) == "Sat, 01 Jan 0000 00:00:00 GMT")
        #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: .distantFuture) != nil)
        #expect(HTTPDate.parse("Sunday, 06-Nov-94 08:49:37 GMT", now: .distantPast) != nil)
    }
}
