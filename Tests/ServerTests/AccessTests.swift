import Larder
import Testing

@testable import LarderServer

@Suite struct SecretTests {
    @Test func whiteSpaceAroundATokenFileIsNoPartOfIt() throws {
        let secret = try #require(Secret("  token \n"))
        #expect(secret.matches("token"))
        #expect(!secret.matches("token "))
        #expect(!secret.matches(""))
        #expect(Secret(" \n") == nil)
        #expect("\(secret)" == "Secret(…)")
        #expect(String(reflecting: secret) == "Secret(…)")
    }

    /// RFC 2202 and RFC 4231, test case 2.
    @Test func codesAreThoseOfTheStandards() {
        let (key, message) = (Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
        #expect(HMAC.code(.sha1, key: key, message).hex == "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79")
        #expect(
            HMAC.code(.sha256, key: key, message).hex
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }
}

@Suite struct AccessControlTests {
    private let now = Timestamp(milliseconds: 1_768_478_400_000)
    private let token = Secret("secret")!
    private let signer = URLSigner(key: Secret("key")!)
    private let image = Route.image(url: "http://e.com/a", Transformation(), .request)
    private let signed = Route.image(url: "http://e.com/a", Transformation(), .signature)
    private let unsafe = Route.image(url: "http://e.com/a", Transformation(), .unsafe)

    private func status(
        _ access: AccessControl, _ route: Route, _ standing: AccessControl.Standing = .anonymous
    ) -> Int {
        do throws(Problem) {
            try access.check(route, standing)
            return 200
        } catch {
            return error.status
        }
    }

    @Test func withoutSecretsAllButRemovingIsOpen() {
        let access = AccessControl()
        #expect(status(access, image) == 200)
        #expect(status(access, unsafe) == 200)
        #expect(status(access, .stats) == 200)
        #expect(status(access, .removeEntry(.init(high: 1, low: 1))) == 403)
        #expect(access.allowsSharedCaching(image))
    }

    @Test func withATokenEverythingWantsIt() {
        let access = AccessControl(token: token)
        for route in [image, unsafe, .stats, .metrics, .entries(.init()), .file(.init(high: 1, low: 1), .init())] {
            #expect(status(access, route) == 401)
            #expect(status(access, route, .session) == 200)
        }
        #expect(status(access, .health) == 200)
        #expect(status(access, .gallery) == 200)
        #expect(status(access, .removeEntry(.init(high: 1, low: 1)), .session) == 401)
        #expect(status(access, .removeEntry(.init(high: 1, low: 1)), .bearer) == 200)
        #expect(!access.allowsSharedCaching(image))
    }

    @Test func withAKeyOnlySignedPathsAreGiven() {
        let access = AccessControl(token: token, signer: signer)
        #expect(status(access, signed) == 200)
        #expect(status(access, unsafe, .bearer) == 403)
        #expect(status(access, image) == 401)
        #expect(status(access, image, .bearer) == 200)
        #expect(access.allowsSharedCaching(signed))
        #expect(status(AccessControl(signer: signer), image) == 403)
        #expect(status(AccessControl(signer: signer), .stats) == 403)
    }

    @Test func aTokenIsBearerOrSession() {
        let access = AccessControl(token: token)
        func standing(_ fields: HTTPFields) -> AccessControl.Standing { access.standing(of: fields, now: now) }
        #expect(standing(["Authorization": "Bearer secret"]) == .bearer)
        #expect(standing(["authorization": "bearer  secret"]) == .bearer)
        #expect(standing(["Authorization": "Bearer secre"]) == .anonymous)
        #expect(standing(["Authorization": "Basic secret"]) == .anonymous)
        let cookie = SessionCookie.make(token: token, now: now)
        #expect(standing(["Cookie": "a=b; larder_session=\(cookie)"]) == .session)
        #expect(standing(["Cookie": "larder_session=\(cookie)0"]) == .anonymous)
        #expect(
            AccessControl(token: Secret("other")).standing(of: ["Cookie": "larder_session=\(cookie)"], now: now)
                == .anonymous)
        let later = now.adding(seconds: SessionCookie.lifetime)
        #expect(access.standing(of: ["Cookie": "larder_session=\(cookie)"], now: later) == .anonymous)
    }
}

@Suite struct HostCheckTests {
    private let check = HostCheck(serverNames: ["Cache.Example.org"], machineName: "pantry")

    @Test(arguments: [
        "localhost", "localhost:8080", "LOCALHOST", "a.localhost", "127.0.0.1:8080", "[::1]:8080", "[::1]",
        "192.0.2.7", "cache.example.org", "cache.example.org.", "pantry:80",
    ])
    func ourOwnNamesAreAnsweredTo(host: String) { #expect(check.allows(host)) }

    @Test(arguments: [
        "evil.example", "localhost.evil.example", "evil.example:8080", "", ":80", "localhost:x", "[::1", "[evil]",
        "127.0.0.1.evil.example", "localhost/", "a@localhost", "127.1", "cache.example.org:80:80",
    ])
    func otherNamesAreNot(host: String) { #expect(!check.allows(host)) }
}

@Suite struct CrossSiteCheckTests {
    private let image = Route.image(url: "http://e.com/a", Transformation(), .request)

    private func isRefused(_ route: Route, _ fields: HTTPFields, _ method: Request.Method = .get) -> Bool {
        do throws(Problem) {
            try CrossSiteCheck.check(route, Request(method, "/", fields: fields), host: "localhost:8080")
            return false
        } catch {
            return error.status == 403
        }
    }

    @Test func pagesOfOtherSitesAreRefused() {
        for mode in ["no-cors", "cors", "navigate"] {
            let fields: HTTPFields = [
                "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": "image",
            ]
            #expect(isRefused(image, fields))
            #expect(isRefused(.stats, fields))
        }
        let frame: HTTPFields = [
            "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe",
        ]
        #expect(isRefused(.gallery, frame))
    }

    @Test func ownPagesProgramsAndLinksPass() {
        for site in ["same-origin", "same-site", "none"] { #expect(!isRefused(image, ["Sec-Fetch-Site": site])) }
        #expect(!isRefused(image, [:]))
        let link: HTTPFields = [
            "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
        ]
        #expect(!isRefused(.gallery, link))
        #expect(isRefused(.logout, link, .post))
    }

    @Test func signedPathsMayBeShownAnywhere() {
        let signed = Route.image(url: "http://e.com/a", Transformation(), .signature)
        #expect(!isRefused(signed, ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"]))
    }

    @Test func nobodyElseLogsAVisitorInOrOut() {
        for route in [Route.login, .logout] {
            #expect(isRefused(route, ["Origin": "https://evil.example"], .post))
            #expect(isRefused(route, ["Origin": "null"], .post))
            #expect(isRefused(route, ["Origin": "http://localhost.evil.example:8080"], .post))
            #expect(!isRefused(route, ["Origin": "http://localhost:8080"], .post))
            #expect(!isRefused(route, [:], .post))
        }
    }
}

@Suite struct RequestFramingTests {
    private func raw(_ fields: [(String, String)]) -> [RequestFraming.RawField] {
        fields.map { .init(Array($0.utf8), Array($1.utf8)) }
    }

    private func isRefused(_ fields: [(String, String)], _ version: String = "HTTP/1.1", cut: Bool = false) -> Bool {
        do throws(Problem) {
            _ = try RequestFraming.check(raw(fields), version: version, hasCutTarget: cut)
            return false
        } catch {
            return error.status == 400
        }
    }

    @Test func usualRequestsPass() throws {
        let fields = try RequestFraming.check(
            raw([("Host", "a"), ("Content-Length", "0"), ("X", "1\t2")]), version: "HTTP/1.1", hasCutTarget: false)
        #expect(fields["host"] == "a")
        #expect(!isRefused([], "HTTP/1.0"))
    }

    @Test func whatCouldBeReadInTwoWaysIsRefused() {
        #expect(isRefused([("Host", "a"), ("Transfer-Encoding", "chunked")]))
        #expect(isRefused([("Host", "a"), ("transfer-encoding", "identity")]))
        #expect(isRefused([("Host", "a"), ("Content-Length", "5")]))
        #expect(isRefused([("Host", "a"), ("Content-Length", "0"), ("Content-Length", "0")]))
        #expect(isRefused([("Host", "a"), ("host", "b")]))
        #expect(isRefused([("Host ", "a")]))
        #expect(isRefused([("Host", "a"), ("X Y", "1")]))
        #expect(isRefused([("Host", "a"), ("X", "1\u{0}2")]))
        #expect(isRefused([("Host", "a"), ("X", "1\r2")]))
        #expect(isRefused([("Host", "a"), ("", "1")]))
        #expect(isRefused([]))
        #expect(isRefused([("Host", "a")], "HTTP/2.0"))
        #expect(isRefused([("Host", "a")], cut: true))
    }
}
