import Testing

@testable import Larder

@Suite struct FreshnessTests {
    private let now = Timestamp(milliseconds: 1_768_478_400_000)  // Thu, 15 Jan 2026 12:00:00 GMT

    private func freshness(_ fields: HTTPFields, status: Int = 200, delay: Int64 = 0) -> Freshness {
        Freshness(status: status, fields: fields, requestTime: now.adding(seconds: -delay), responseTime: now)
    }

    private func date(_ offset: Int64) -> String { HTTPDate.format(now.adding(seconds: offset)) }

    // MARK: Age, §4.2.3

    @Test func ageIsWhatTheClocksSayOrWhatTheCachesSaid() {
        #expect(freshness(["Date": date(-50)]).age(now: now) == 50)
        #expect(freshness(["Age": "70"]).age(now: now) == 70)
        #expect(freshness(["Date": date(-50), "Age": "70"]).age(now: now) == 70)
        #expect(freshness(["Date": date(-90), "Age": "70"]).age(now: now) == 90)
        #expect(freshness(["Age": "70"], delay: 5).age(now: now) == 75)
        #expect(freshness(["Age": "70"]).age(now: now.adding(seconds: 8)) == 78)
    }

    @Test func aClockThatRunsAheadIsNoNegativeAge() {
        #expect(freshness(["Date": date(500)]).age(now: now) == 0)
        #expect(freshness([:]).age(now: now.adding(seconds: -100)) == 0)
        let backwards = Freshness(
            status: 200, fields: [:], requestTime: now.adding(seconds: 60), responseTime: now)
        #expect(backwards.age(now: now) == 0)
    }

    @Test func anAgeOfManyMembersIsItsFirstAndAnInvalidOneIsNone() {
        #expect(freshness(["Age": "7, 900"]).ageValue == 7)
        #expect(HTTPFields([.init("Age", "7"), .init("Age", "900")]).values("age").count == 2)
        #expect(freshness(HTTPFields([.init("Age", "7"), .init("Age", "900")])).ageValue == 7)
        for invalid in ["-7", "7200.0", "abc", "", "7;x"] { #expect(freshness(["Age": invalid]).ageValue == 0) }
        #expect(freshness(["Age": "99999999999999999999"]).ageValue == 1 << 31)
    }

    @Test func theEndsOfTimeDoNotOverflow() {
        for time in [Timestamp.distantPast, .distantFuture] {
            let response = Freshness(
                status: 200, fields: ["Age": "99999999999", "Cache-Control": "max-age=99999999999", "Date": date(0)],
                requestTime: .distantPast, responseTime: time)
            _ = response.age(now: .distantFuture)
            _ = response.age(now: .distantPast)
            _ = response.stored(FreshnessOptions())
        }
    }

    // MARK: Lifetime, §4.2.1 and §4.2.2

    @Test func maxAgeComesBeforeExpires() {
        #expect(freshness(["Cache-Control": "max-age=60", "Expires": date(-600)]).lifetime(.strict) == 60)
        #expect(freshness(["Cache-Control": "max-age=0", "Expires": date(600)]).lifetime(.strict) == 0)
        #expect(freshness(["Cache-Control": "max-age=60", "Expires": "0"]).lifetime(.strict) == 60)
    }

    @Test func sMaxageIsForSharedCaches() {
        #expect(freshness(["Cache-Control": "max-age=60, s-maxage=5"]).lifetime(.strict) == 60)
        #expect(freshness(["Cache-Control": "s-maxage=5"]).lifetime(.strict) == 0)
    }

    @Test func expiresIsReckonedFromDate() {
        #expect(freshness(["Expires": date(100), "Date": date(-20)]).lifetime(.strict) == 120)
        #expect(freshness(["Expires": date(100)]).lifetime(.strict) == 100)
        #expect(freshness(["Expires": date(100), "Date": "nonsense"]).lifetime(.strict) == 100)
        #expect(freshness(["Expires": date(300), "Date": date(400)]).lifetime(.strict) == 0)
    }

    @Test(arguments: ["0", "-1", "", "never", "Thu, 18 Aug 2050 02:01:18 UTC"])
    func anInvalidExpiresIsStaleWhateverTheHeuristicSays(_ value: String) {
        #expect(freshness(["Expires": value, "Last-Modified": date(-100_000)]).lifetime(FreshnessOptions()) == 0)
    }

    @Test func theHeuristicIsATenthAndCapped() {
        #expect(freshness(["Last-Modified": date(-1000), "Date": date(0)]).lifetime(.strict) == 100)
        #expect(freshness(["Last-Modified": date(-1000)]).lifetime(.strict) == 100)
        #expect(freshness(["Last-Modified": date(-1000 * 86_400)]).lifetime(.strict) == 7 * 86_400)
        #expect(freshness(["Last-Modified": date(1000)]).lifetime(.strict) == 0)
        let options = FreshnessOptions(heuristicFraction: 0.5, heuristicLimit: 60)
        #expect(freshness(["Last-Modified": date(-100)]).lifetime(options) == 50)
        #expect(freshness(["Last-Modified": date(-1000)]).lifetime(options) == 60)
        #expect(freshness(["Last-Modified": date(-1000)]).lifetime(FreshnessOptions(heuristicFraction: .nan)) >= 0)
    }

    @Test func onlyStatusesThatAllowItAreHeuristicallyFresh() {
        for status in [200, 203, 204, 404, 410] {
            #expect(freshness(["Last-Modified": date(-1000)], status: status).lifetime(.strict) == 100)
        }
        for status in [201, 302, 403, 500, 503, 599] {
            #expect(freshness(["Last-Modified": date(-1000)], status: status).lifetime(.strict) == 0)
        }
        let open: HTTPFields = ["Last-Modified": date(-1000), "Cache-Control": "public"]
        #expect(freshness(open, status: 599).lifetime(.strict) == 100)
    }

    @Test func imagesWithoutUsableHeadersAreFreshForTheDefault() {
        #expect(freshness([:]).lifetime(FreshnessOptions()) == 7 * 86_400)
        #expect(freshness(["Last-Modified": "nonsense"]).lifetime(FreshnessOptions()) == 7 * 86_400)
        #expect(freshness([:]).lifetime(.strict) == 0)
        #expect(freshness([:], status: 500).lifetime(FreshnessOptions()) == 0)
    }

    // MARK: What is stored

    @Test func whatIsStoredNeedsOneComparison() {
        let stored = freshness(
            [
                "Cache-Control": "max-age=60, stale-while-revalidate=30, stale-if-error=90", "Age": "10",
                "Vary": "Accept",
            ]
        ).stored(.strict)
        #expect(stored.freshUntil == now.adding(seconds: 50))
        #expect(stored.staleWhileRevalidateUntil == now.adding(seconds: 80))
        #expect(stored.staleIfErrorUntil == now.adding(seconds: 140))
        #expect(stored.hasVary && !stored.mustRevalidate && !stored.noCache && !stored.immutable)
    }

    @Test(arguments: ["must-revalidate", "no-cache"])
    func nothingStaleWhereRevalidationIsDemanded(_ directive: String) {
        let stored = freshness(
            ["Cache-Control": "max-age=60, stale-while-revalidate=30, stale-if-error=90, \(directive)"]
        ).stored(FreshnessOptions())
        #expect(stored.staleWhileRevalidateUntil == .distantPast)
        #expect(stored.staleIfErrorUntil == .distantPast)
    }

    @Test func theResponsesOwnStaleIfErrorComesBeforeTheOption() {
        let silent = freshness(["Cache-Control": "max-age=60"])
        #expect(silent.stored(FreshnessOptions()).staleIfErrorUntil == .distantFuture)
        #expect(silent.stored(FreshnessOptions(staleIfError: 9)).staleIfErrorUntil == now.adding(seconds: 69))
        #expect(silent.stored(FreshnessOptions(staleIfError: 0)).staleIfErrorUntil == .distantPast)
        let stated = freshness(["Cache-Control": "max-age=60, stale-if-error=0"])
        #expect(stated.stored(FreshnessOptions()).staleIfErrorUntil == .distantPast)
    }
}
