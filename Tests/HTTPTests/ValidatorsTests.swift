import Testing

@testable import Larder

@Suite struct ValidatorsTests {
    private let now = Timestamp(milliseconds: 1_768_478_400_000)
    private let modified = "Wed, 14 Jan 2026 12:00:00 GMT"
    private let date = "Thu, 15 Jan 2026 12:00:00 GMT"

    private func validators(_ fields: HTTPFields) -> Validators { Validators(fields, now: now) }

    @Test func ifNoneMatchComesBeforeIfModifiedSince() {
        let both = validators(["ETag": "\"a\"", "Last-Modified": modified])
        #expect(both.conditionalFields.map(\.name) == ["If-None-Match", "If-Modified-Since"])
        #expect(both.conditionalFields.map(\.value) == ["\"a\"", modified])
        #expect(validators(["Last-Modified": modified]).conditionalFields.map(\.name) == ["If-Modified-Since"])
        #expect(validators(["ETag": "W/\"a\""]).conditionalFields.map(\.value) == ["W/\"a\""])
    }

    @Test func anInvalidDateIsNoValidator() {
        #expect(validators(["Last-Modified": "yesterday"]).isEmpty)
        #expect(validators(["ETag": ""]).isEmpty)
        #expect(validators([:]).isEmpty)
    }

    @Test func weakTagsMatchForGetsAndNeverForRanges() throws {
        let weak = try #require(EntityTag("W/\"a\""))
        let strong = try #require(EntityTag("\"a\""))
        #expect(weak.matchesWeakly(strong) && weak.matchesWeakly(weak) && strong.matchesWeakly(weak))
        #expect(!weak.matchesStrongly(strong) && !weak.matchesStrongly(weak) && strong.matchesStrongly(strong))
        #expect(try !strong.matchesWeakly(#require(EntityTag("\"b\""))))
    }

    @Test func ifRangeTakesStrongValidatorsOnly() {
        #expect(validators(["ETag": "\"a\"", "Last-Modified": modified, "Date": date]).ifRange == "\"a\"")
        #expect(validators(["ETag": "W/\"a\"", "Last-Modified": modified, "Date": date]).ifRange == nil)
        #expect(validators(["Last-Modified": modified, "Date": date]).ifRange == modified)
        #expect(validators(["Last-Modified": date, "Date": date]).ifRange == nil)
        #expect(validators(["Last-Modified": modified]).ifRange == nil)
    }

    @Test func a304ThatNamesAnotherVersionConfirmsNothing() {
        let stored = validators(["ETag": "\"a\"", "Last-Modified": modified])
        #expect(stored.areConfirmed(by: validators([:])))
        #expect(stored.areConfirmed(by: validators(["ETag": "\"a\""])))
        #expect(stored.areConfirmed(by: validators(["ETag": "W/\"a\""])))
        #expect(stored.areConfirmed(by: validators(["Last-Modified": modified])))
        #expect(!stored.areConfirmed(by: validators(["ETag": "\"b\""])))
        #expect(!stored.areConfirmed(by: validators(["ETag": "W/\"b\""])))
        #expect(!stored.areConfirmed(by: validators(["Last-Modified": date])))
        #expect(!validators(["Last-Modified": modified]).areConfirmed(by: validators(["ETag": "\"a\""])))
    }

    @Test func theListOfTagsIsReadByItsGrammar() {
        let texts = EntityTag.list(["\"a\", W/\"b,c\" ,\"\"", "bare, *"]).map(\.text)
        #expect(texts == ["\"a\"", "W/\"b,c\"", "\"\"", "bare"])
        #expect(EntityTag.list([" , ,"]).isEmpty)
        #expect(EntityTag.list(["\"unended"]).map(\.text) == ["\"unended"])
    }

    @Test func ifNoneMatchDecidesAloneWhereItIsPresent() {
        let stored = validators(["ETag": "\"a\"", "Last-Modified": modified])
        func current(_ request: HTTPFields) -> Bool { stored.areCurrent(for: request, storedAt: now, now: now) }
        #expect(current(["If-None-Match": "\"x\", W/\"a\""]))
        #expect(current(["If-None-Match": "*"]))
        #expect(!current(["If-None-Match": "\"b\"", "If-Modified-Since": date]))
        #expect(current(["If-Modified-Since": modified]))
        #expect(current(["If-Modified-Since": date]))
        #expect(!current(["If-Modified-Since": "Tue, 13 Jan 2026 12:00:00 GMT"]))
        #expect(!current(["If-Modified-Since": "nonsense"]))
        #expect(!current([:]))
    }
}
