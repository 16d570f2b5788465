import Testing

@testable import Larder

@Suite struct CacheControlTests {
    @Test func readsEveryDirectiveThatAPrivateCacheActsOn() {
        let control = CacheControl([
            "max-age=60, no-store, must-revalidate, must-understand, public, private, immutable",
            "stale-while-revalidate=5,stale-if-error=7 , no-cache, only-if-cached, min-fresh=3, max-stale=9",
        ])
        #expect(control.maxAge == 60)
        #expect(control.noStore && control.mustRevalidate && control.mustUnderstand && control.isPublic)
        #expect(control.isPrivate && control.immutable && control.noCache && control.onlyIfCached)
        #expect(control.staleWhileRevalidate == 5 && control.staleIfError == 7)
        #expect(control.minFresh == 3 && control.maxStale == 9)
    }

    @Test func namesCompareWithoutCase() {
        #expect(CacheControl(["MAX-AGE=5, No-Store"]).maxAge == 5)
        #expect(CacheControl(["MAX-AGE=5, No-Store"]).noStore)
    }

    @Test func argumentsMayBeQuoted() {
        #expect(CacheControl(["max-age=\"3600\""]).maxAge == 3600)
        #expect(CacheControl(["max-age=\"36\\00\""]).maxAge == 3600)
    }

    @Test func whatStandsInsideQuotesIsNoDirective() {
        let control = CacheControl(["extension=\"max-age=3600, no-store\", max-age=1"])
        #expect(control.maxAge == 1)
        #expect(!control.noStore)
        #expect(CacheControl(["max-age=1, extension=\"a\\\"b, no-store\""]).noStore == false)
    }

    @Test(arguments: [
        "max-age=a3600", "max-age=3600a", "max-age=3600.5", "max-age='3600'", "max-age=-1", "max-age=+1", "max-age=",
        "max-age", "max-age =3600", "max-age= 3600", "max-age=\"3600", "max-age=1 2", "max-age=\"60\"x",
    ])
    func aMaxAgeThatIsNoNumberIsStale(_ value: String) {
        #expect(CacheControl([value]).maxAge == 0)
    }

    @Test func numbersAreHeldToTheGreatest() {
        #expect(CacheControl(["max-age=99999999999999999999999999"]).maxAge == 1 << 31)
        #expect(CacheControl(["max-age=2147483648"]).maxAge == 1 << 31)
        #expect(CacheControl(["max-age=003600"]).maxAge == 3600)
    }

    @Test func ofRepeatedDirectivesTheFirstCounts() {
        #expect(CacheControl(["max-age=1, max-age=1800"]).maxAge == 1)
        #expect(CacheControl(["max-age=1800", "max-age=1"]).maxAge == 1800)
    }

    @Test func unknownAndSharedDirectivesMakeNoDifference() {
        #expect(CacheControl(["s-maxage=60, proxy-revalidate, no-transform, foo, bar=\"x\", ,,"]) == CacheControl())
        #expect(CacheControl(["@@@, ;;;, =, \", \"\""]) == CacheControl())
    }

    @Test func aRestrictionCountsWhateverFollowsIt() {
        #expect(CacheControl(["no-store=yes"]).noStore)
        #expect(CacheControl(["no-store foo"]).noStore)
        #expect(CacheControl(["no-cache="]).noCache)
        #expect(CacheControl(["private=\"x-secret\""]).isPrivate)
    }

    @Test func noCacheWithFieldsNamesThem() {
        let control = CacheControl(["no-cache=\"Set-Cookie, X-Token\""])
        #expect(!control.noCache)
        #expect(control.noCacheFields == ["set-cookie", "x-token"])
    }

    @Test func maxStaleWithoutArgumentIsAnyAge() {
        #expect(CacheControl(["max-stale"]).maxStale == .max)
        #expect(CacheControl(["max-stale=x"]).maxStale == nil)
    }

    @Test func anyBytesAreReadToTheEnd() {
        var generator = SystemRandomNumberGenerator()
        let alphabet = Array("max-age=no-store,\"\\ \t=;1239é\u{0}")
        for _ in 0..<2000 {
            let text = String((0..<Int.random(in: 0...40, using: &generator)).map { _ in alphabet.randomElement()! })
            let control = CacheControl([text])
            #expect((control.maxAge ?? 0) >= 0)
        }
    }
}
