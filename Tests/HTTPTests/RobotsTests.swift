import TestSupport
import Testing

@testable import Larder

@Suite struct RobotsTests {
    // MARK: X-Robots-Tag

    @Test(arguments: [
        "noai", "NOIMAGEAI", "noindex, nofollow", "nofollow, noimageindex", "none", "larder: noai", "*: noai",
        "otherbot: nofollow, larder: noai", "unavailable_after: Thu, 15 Jan 2026 12:00:00 GMT, noai",
    ])
    func aTagForbids(_ value: String) {
        #expect(RobotsTag.forbids(["X-Robots-Tag": value], agent: "larder") != nil)
    }

    @Test(arguments: ["", "all", "nofollow", "otherbot: noai, noindex", "noaide", "max-snippet: 0", "a:b:c:noai"])
    func aTagAllows(_ value: String) {
        #expect(RobotsTag.forbids(["X-Robots-Tag": value], agent: "larder") == nil)
    }

    // MARK: robots.txt

    private func permits(_ file: String, _ target: String) -> Bool {
        RobotsFile(Array(file.utf8), agent: "larder").permits(target)
    }

    @Test func theLongestRuleDecidesAndAllowWinsATie() {
        let file = "User-agent: *\nDisallow: /a\nAllow: /a/b\nDisallow: /a/b/c\nAllow: /t\nDisallow: /t"
        #expect(permits(file, "/"))
        #expect(!permits(file, "/a/x"))
        #expect(permits(file, "/a/b/x"))
        #expect(!permits(file, "/a/b/c"))
        #expect(permits(file, "/t"))
    }

    @Test func ourOwnGroupTakesThePlaceOfTheGeneralOne() {
        let file = """
            User-agent: *
            Disallow: /
            # a comment
            User-Agent: otherbot
            User-agent: LARDER   # us
            Disallow: /private
            Disallow:
            Sitemap: https://example.com/sitemap.xml
            """
        #expect(permits(file, "/a"))
        #expect(!permits(file, "/private/a"))
        #expect(!RobotsFile(Array(file.utf8), agent: "third").permits("/a"))
        #expect(RobotsFile(Array("User-agent: larder\n".utf8), agent: "larder").permits("/a"))
    }

    @Test func starsAndDollarsAreKept() {
        let file = "user-agent: *\r\ndisallow: /*.gif$\r\ndisallow: /a*/b\r\ndisallow: /caf%c3%a9"
        #expect(!permits(file, "/x/y.gif"))
        #expect(permits(file, "/x/y.gif?z"))
        #expect(!permits(file, "/axx/b/c"))
        #expect(permits(file, "/axx/c"))
        #expect(!permits(file, "/caf%C3%A9"))
        #expect(!permits(file, "/café"))
    }

    @Test func absurdFilesEndInTime() {
        let stars = "user-agent: *\ndisallow: /" + String(repeating: "*a", count: 2000) + "b"
        #expect(permits(stars, "/" + String(repeating: "a", count: 4000)))
        let many = "user-agent: *\n" + String(repeating: "disallow: /x\n", count: 60_000)
        #expect(!permits(many, "/x"))
        #expect(permits("\u{0}\u{FFFD}:::\n:\n", "/"))
        #expect(permits("", "/"))
        #expect(RobotsFile.allowsAll.permits("/a") && !RobotsFile.allowsNothing.permits("/a"))
    }

    // MARK: The policy

    private func check(
        _ policy: RobotsPolicy, _ path: String = "/a", host: String = "example.com",
        fetch: @escaping RobotsPolicy.Fetch
    ) async throws -> Bool {
        do {
            try await policy.check(NormalizedURL("http://\(host)\(path)"), fetch: fetch)
            return true
        } catch {
            guard case .refused(.robots, _) = error else { throw error }
            return false
        }
    }

    @Test func theFileIsAskedForOnceADayAndOrigin() async throws {
        let time = ManualTime()
        let policy = RobotsPolicy(time: time)
        let asked = Lock<[String]>([])
        let fetch: RobotsPolicy.Fetch = { url throws(ImageError) in
            asked.withLock { $0.append(url.string) }
            return (200, Array("user-agent: *\ndisallow: /private".utf8))
        }
        #expect(try await check(policy, fetch: fetch))
        #expect(try await !check(policy, "/private/a", fetch: fetch))
        #expect(try await check(policy, "/robots.txt", fetch: fetch))
        #expect(asked.withLock { $0 } == ["http://example.com/robots.txt"])
        #expect(try await check(policy, host: "example.com:8080", fetch: fetch))
        #expect(asked.withLock { $0.count } == 2)
        time.advance(seconds: 86_401)
        #expect(try await check(policy, fetch: fetch))
        #expect(asked.withLock { $0.count } == 3)
    }

    @Test func aMissingFileAllowsAndAFaultForbidsForAWhile() async throws {
        let time = ManualTime()
        let policy = RobotsPolicy(time: time)
        for (host, status, allows) in [("a", 404, true), ("b", 401, true), ("c", 503, false), ("d", 429, false)] {
            #expect(try await check(policy, host: host) { _ throws(ImageError) in (status, []) } == allows)
        }
        #expect(try await !check(policy, host: "e") { _ throws(ImageError) in throw .unreachable(.init()) })
        time.advance(seconds: 601)
        #expect(try await check(policy, host: "e") { _ throws(ImageError) in (404, []) })
    }

    @Test func memoryIsBounded() async throws {
        let policy = RobotsPolicy(maxOrigins: 50)
        for number in 0..<500 { _ = try await check(policy, host: "h\(number)") { _ throws(ImageError) in (404, []) } }
        #expect(policy.count <= 50)
    }
}
