import Testing

@testable import Larder

@Suite struct StorabilityTests {
    private func mayStore(
        _ response: HTTPFields, status: Int = 200, method: String = "GET", request: HTTPFields = [:]
    ) -> Bool {
        Storability.mayStore(method: method, request: request, status: status, response: response)
    }

    @Test func onlyWholeAnswersToGetAreStored() {
        #expect(mayStore([:]))
        for method in ["HEAD", "POST", "PUT", "DELETE", "FOO"] {
            #expect(!mayStore(["Cache-Control": "max-age=60"], method: method))
        }
        #expect(!mayStore(["Cache-Control": "max-age=60"], status: 206))
        #expect(!mayStore(["Cache-Control": "max-age=60"], status: 304))
        #expect(!mayStore(["Cache-Control": "max-age=60"], request: ["Range": "bytes=0-1"]))
        #expect(!mayStore(["Cache-Control": "max-age=60"], status: 103))
    }

    @Test func statusesThatAreNotCacheableNeedFreshnessOfTheirOwn() {
        for status in [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501] { #expect(mayStore([:], status: status)) }
        for status in [201, 302, 403, 500, 502, 503, 504, 599] {
            #expect(!mayStore([:], status: status))
            #expect(mayStore(["Cache-Control": "max-age=60"], status: status))
            #expect(mayStore(["Expires": "Thu, 18 Aug 2050 02:01:18 GMT"], status: status))
            #expect(mayStore(["Cache-Control": "public"], status: status))
            #expect(mayStore(["Cache-Control": "private"], status: status))
            #expect(!mayStore(["Cache-Control": "s-maxage=60"], status: status))
        }
    }

    @Test func noStoreOnEitherSideForbidsIt() {
        #expect(!mayStore(["Cache-Control": "no-store, max-age=60"]))
        #expect(!mayStore([:], request: ["Cache-Control": "no-store"]))
    }

    @Test func mustUnderstandTakesThePlaceOfNoStore() {
        #expect(mayStore(["Cache-Control": "must-understand, no-store, max-age=60"]))
        #expect(!mayStore(["Cache-Control": "must-understand, max-age=60"], status: 299))
    }

    @Test func credentialsAndPrivateAnswersMayBeStoredByAPrivateCache() {
        #expect(mayStore([:], request: ["Authorization": "Basic eDp5"]))
        #expect(mayStore(["Cache-Control": "private"]))
    }

    @Test func aStarInVaryIsNotWorthStoring() {
        #expect(!mayStore(["Vary": "*", "Cache-Control": "max-age=60"]))
    }

    @Test func fieldsOfTheConnectionAndCookiesAreNotStored() {
        let stored = Storability.storedFields([
            "Content-Type": "image/png", "X-Custom": "1", "Connection": "close, X-Hop", "X-Hop": "1",
            "Keep-Alive": "timeout=5", "Proxy-Authenticate": "Basic", "Transfer-Encoding": "chunked", "TE": "trailers",
            "Upgrade": "h2c", "Trailer": "X", "Set-Cookie": "a=b", "Set-Cookie2": "a=b",
            "Cache-Control": "max-age=60, no-cache=\"X-Token\"", "X-Token": "secret",
        ])
        #expect(stored.fields.map(\.name) == ["Content-Type", "X-Custom", "Cache-Control"])
    }

    @Test func a304ReplacesWhatItNamesAndKeepsTheRest() {
        let merged = Storability.merge(
            [
                "Content-Type": "image/png", "Content-Length": "10", "ETag": "\"a\"", "X-A": "1", "X-B": "1",
                "Age": "5", "Date": "Thu, 15 Jan 2026 12:00:00 GMT",
            ],
            notModified: ["X-B": "2", "Content-Length": "0", "Content-Encoding": "gzip", "Set-Cookie": "a=b"])
        #expect(merged["content-type"] == "image/png")
        #expect(merged["content-length"] == "10")
        #expect(merged["content-encoding"] == nil)
        #expect(merged["etag"] == "\"a\"")
        #expect(merged["x-a"] == "1")
        #expect(merged["x-b"] == "2")
        // Without a date the new answer counts from when it came.
        #expect(merged["age"] == nil && merged["date"] == nil)
        #expect(merged["set-cookie"] == nil)
    }

    @Test func a304NeverLosesMustRevalidateNorTheETag() {
        let stored: HTTPFields = ["Cache-Control": "max-age=1, must-revalidate", "ETag": "\"a\""]
        let merged = Storability.merge(stored, notModified: ["Cache-Control": "max-age=60", "ETag": "W/\"a\""])
        #expect(CacheControl(merged).maxAge == 60)
        #expect(CacheControl(merged).mustRevalidate)
        #expect(merged["etag"] == "\"a\"")
        #expect(CacheControl(Storability.merge(stored, notModified: [:])).maxAge == 1)
        let twice = Storability.merge(merged, notModified: ["Cache-Control": "max-age=60"])
        #expect(CacheControl(twice).mustRevalidate)
    }

    @Test func unsafeMethodsThatDidNotFailInvalidate() {
        for method in ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH"] {
            #expect(Storability.invalidates(method: method, status: 200))
            #expect(Storability.invalidates(method: method, status: 302))
            #expect(!Storability.invalidates(method: method, status: 404))
            #expect(!Storability.invalidates(method: method, status: 500))
        }
        for method in ["GET", "HEAD", "OPTIONS", "TRACE"] {
            #expect(!Storability.invalidates(method: method, status: 200))
        }
    }
}
