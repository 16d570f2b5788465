import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderServer

@Suite struct EntryListingTests {
    private let time = ManualTime()
    private let fixture: ServerFixture

    init() throws {
        fixture = try ServerFixture(time: time)
        for (index, name) in ["apple", "bread", "cheese", "dates"].enumerated() {
            try fixture.store(
                "https://example.com/\(name)", Array(repeating: 7, count: 100 * (index + 1)),
                header: ImageHeader(format: index == 3 ? .jpeg : .png, width: 10, height: 20, orientation: .right),
                freshFor: index == 0 ? 10 : 3600)
            time.advance(seconds: 5)
        }
        try fixture.store("https://example.com/secret", [1], isPrivate: true)
        time.advance(seconds: 5)
    }

    private func object(
        _ target: String, _ server: ImageServer? = nil, _ fields: HTTPFields = .init()
    ) async throws -> [String: Any] {
        let answer = await (server ?? fixture.server()).answer(target, .get, fields)
        #expect(answer.status == 200)
        #expect(answer.fields["Content-Type"] == "application/json")
        return try #require(try JSONSerialization.jsonObject(with: Data(answer.bytes)) as? [String: Any])
    }

    private func names(_ query: String) async throws -> [String] {
        let page = try await object("/api/entries?" + query)
        return try #require(page["entries"] as? [[String: Any]]).map {
            String(($0["url"] as? String ?? "").split(separator: "/").last ?? "")
        }
    }

    @Test func entriesAreSortedFilteredAndPaged() async throws {
        #expect(try await names("") == ["dates", "cheese", "bread", "apple"])
        #expect(try await names("sort=stored&limit=2&offset=1") == ["bread", "cheese"])
        #expect(try await names("sort=-size&limit=1") == ["dates"])
        // By the bytes that are shown, not by blocks on disk.
        try fixture.store("https://example.com/figs", [1, 2, 3])
        #expect(try await names("sort=size") == ["figs", "apple", "bread", "cheese", "dates"])
        fixture.tier.remove(CacheKey(url: "https://example.com/figs"))
        #expect(try await names("format=jpg") == ["dates"])
        #expect(try await names("sort=url") == ["apple", "bread", "cheese", "dates"])
        #expect(try await names("q=ea") == ["bread"])
        #expect(try await names("format=jpeg") == ["dates"])
        #expect(try await names("format=nonsense").isEmpty)
        #expect(try await names("state=stale") == ["apple"])
        #expect(try await names("state=fresh&sort=url") == ["bread", "cheese", "dates"])
        #expect(try await object("/api/entries?limit=1")["total"] as? Int == 4)
    }

    @Test func anEntryTellsWhatATileShows() async throws {
        let page = try await object("/api/entries?q=dates")
        let entry = try #require((page["entries"] as? [[String: Any]])?.first)
        #expect(entry["format"] as? String == "jpeg")
        #expect(entry["width"] as? Int == 10)
        #expect(entry["orientation"] as? Int == 6)
        #expect(entry["bytes"] as? Int == 400)
        #expect(entry["is_private"] as? Bool == false)
        #expect((entry["stored_at"] as? String)?.hasPrefix("2026-01-15T12:00:15") == true)
        #expect((entry["key"] as? String)?.count == 32)
    }

    @Test func privateEntriesAreListedForWhoHasTheToken() async throws {
        let server = fixture.server(access: AccessControl(token: Secret("t")))
        let bearer: HTTPFields = ["Authorization": "Bearer t"]
        #expect(try await object("/api/entries", server, bearer)["total"] as? Int == 5)
        #expect(await server.answer("/api/entries").status == 401)
        #expect(try await object("/api/entries")["total"] as? Int == 4)
    }

    @Test func failuresAreListedByThemselves() async throws {
        fixture.tier.rememberFailure(
            CacheKey(url: "https://example.com/gone"), code: "http_status:410", until: time.now.adding(seconds: 60))
        let page = try await object("/api/entries?state=failed")
        #expect(page["total"] as? Int == 1)
        let entry = try #require((page["entries"] as? [[String: Any]])?.first)
        #expect(entry["url"] as? String == "https://example.com/gone")
        let error = try #require(entry["error"] as? [String: Any])
        #expect(error["code"] as? String == "http_status")
        #expect(error["status"] as? Int == 410)
        #expect((error["message"] as? String)?.contains("410") == true)
        time.advance(seconds: 61)
        #expect(try await object("/api/entries?state=failed")["total"] as? Int == 0)
    }

    @Test func failuresOfRequestsWithCredentialsAreForWhoHasTheToken() async throws {
        let until = time.now.adding(seconds: 60)
        for index in 0..<3 {
            let key = CacheKey(url: "https://example.com/gone/\(index)")
            fixture.tier.rememberFailure(key, code: "not_an_image", until: until)
            let partition = String(repeating: "a", count: 64)
            let secret = CacheKey(url: "https://example.com/secret/\(index)", partition: partition)
            fixture.tier.rememberFailure(secret, code: "not_an_image", until: until)
        }
        let page = try await object("/api/entries?state=failed&offset=1&limit=2")
        #expect(page["total"] as? Int == 3)
        let urls = (page["entries"] as? [[String: Any]] ?? []).compactMap { $0["url"] as? String }
        #expect(urls.count == 2 && urls.allSatisfy { $0.contains("/gone/") })
        let server = fixture.server(access: AccessControl(token: Secret("t")))
        let bearer: HTTPFields = ["Authorization": "Bearer t"]
        #expect(try await object("/api/entries?state=failed", server, bearer)["total"] as? Int == 6)
    }

    @Test func oneEntryTellsEverything() async throws {
        let url = "https://example.com/picture.png"
        let entry = try fixture.storePicture(url)
        let server = fixture.server()
        #expect(await server.answer("/files/\(entry.file)?w=16").status == 200)
        let detail = try await object("/api/entries/\(entry.key.hash)", server)
        #expect(detail["sha256"] as? String == entry.sha256.hex)
        #expect(detail["final_url"] as? String == url)
        #expect((detail["freshness"] as? [String: Any])?["must_revalidate"] as? Bool == false)
        let variants = try #require(detail["variants"] as? [[String: Any]])
        #expect(variants.count == 1)
        #expect(variants.first?["width"] as? Int == 16)
        #expect(await server.answer("/api/entries/abcdef0123456789abcdef0123456789").status == 404)
    }

    @Test func removingTakesTheVariantsToo() async throws {
        let entry = try fixture.storePicture("https://example.com/picture.png")
        let server = fixture.server(access: AccessControl(token: Secret("t")))
        let bearer: HTTPFields = ["Authorization": "Bearer t"]
        #expect(await server.answer("/files/\(entry.file)?w=16", .get, bearer).status == 200)
        let target = "/api/entries/\(entry.key.hash)"
        #expect(await server.answer(target, .delete).status == 401)
        #expect(await server.answer(target, .delete, bearer).status == 204)
        #expect(await server.answer(target, .delete, bearer).status == 404)
        #expect(await server.answer("/files/\(entry.file)", .get, bearer).status == 404)
        var query = EntryQuery()
        query.url = "https://example.com/picture.png"
        #expect(try fixture.tier.count(query) == 0)
    }

    @Test func statisticsAreThoseOfTheGallery() async throws {
        let stats = try await object("/api/stats")
        #expect(stats["images"] as? Int == 4)
        #expect(stats["stale"] as? Int == 1)
        #expect(stats["fresh"] as? Int == 3)
        #expect((stats["formats"] as? [String: Int]) == ["png": 3, "jpeg": 1])
        #expect(stats["limit_bytes"] as? Int == 2 << 30)
    }
}
