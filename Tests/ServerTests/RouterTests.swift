import Larder
import Testing

@testable import LarderServer

@Suite struct RouterTests {
    private func route(
        _ target: String, _ method: Request.Method = .get, key: String? = nil
    ) throws(Problem) -> Route {
        let signer = key.flatMap { Secret($0) }.map { URLSigner(key: $0) }
        return try Router(signer: signer).route(method, RequestTarget(target))
    }

    private func status(_ target: String, _ method: Request.Method = .get, key: String? = nil) -> Int {
        do throws(Problem) {
            _ = try route(target, method, key: key)
            return 200
        } catch {
            return error.status
        }
    }

    @Test func fixedPathsLeadToTheirRoutes() throws {
        #expect(try route("/") == .gallery)
        #expect(try route("/healthz") == .health)
        #expect(try route("/metrics", .head) == .metrics)
        #expect(try route("/api/stats") == .stats)
        #expect(try route("/login", .post) == .login)
        #expect(try route("http://127.0.0.1:8080/healthz") == .health)
    }

    @Test func aURLIsDecodedOnce() throws {
        #expect(
            try route("/image?url=https%3A%2F%2Fexample.com%2Fa%2520b.jpg%3Fx%3D1")
                == .image(url: "https://example.com/a%20b.jpg?x=1", Transformation(), .request))
        #expect(
            try route("/image?url=https://example.com/a+b.jpg")
                == .image(url: "https://example.com/a+b.jpg", Transformation(), .request))
    }

    @Test func imgixParametersAreRead() throws {
        let wanted = Transformation(width: 200, height: 100, fit: .crop, format: .png, quality: 70)
        #expect(
            try route("/image?url=http://e.com/a&w=100&h=50&dpr=2&fit=crop&fm=png&q=70")
                == .image(url: "http://e.com/a", wanted, .request))
    }

    @Test(arguments: [
        "/image", "/image?url=", "/image?url=http://e.com/a&w=0", "/image?url=http://e.com/a&w=-1",
        "/image?url=http://e.com/a&w=99999999999999999999", "/image?url=http://e.com/a&w=8000&dpr=2",
        "/image?url=http://e.com/a&dpr=nan", "/image?url=http://e.com/a&fit=fill", "/image?url=http://e.com/a&fm=exe",
        "/image?url=http://e.com/a&q=101", "/image?url=http://e.com/a&blur=3", "/image?url=a&url=b",
        "/image?url=%00", "/image?url=%zz", "/image?url=%e9", "/api/entries?limit=0", "/api/entries?limit=100000",
        "/api/entries?sort=colour", "/api/entries?state=x", "/a b", "/#x", "image", "ftp://e.com/",
    ])
    func whatIsNotUnderstoodIsSaid(target: String) { #expect(status(target) == 400) }

    @Test(arguments: [
        "/files/../../etc/passwd", "/files/ab/../cd", "/files/ab%2fcdef", "/files/ab/cdef", "/files/", "/files",
        "/files/AB/CDEF0123456789ABCDEF0123456789", "/files/ab/cdef0123456789abcdef012345678/",
        "/api/entries/xyz", "/nothing", "//", "/unsafe",
    ])
    func otherPathsAreNotThere(target: String) { #expect(status(target) == 404) }

    @Test func filesGoByTheirHash() throws {
        let hash = try #require(CacheKey.Hash(hex: "abcdef0123456789abcdef0123456789"))
        #expect(try route("/files/ab/cdef0123456789abcdef0123456789") == .file(hash, Transformation()))
        #expect(try route("/files/ab/cdef0123456789abcdef0123456789.jpg") == .file(hash, Transformation()))
        #expect(
            try route("/files/ab/cdef0123456789abcdef0123456789?w=32&fit=max")
                == .file(hash, Transformation(width: 32, fit: .max)))
        #expect(hash.description == "abcdef0123456789abcdef0123456789")
    }

    @Test func methodsAreHeldToTheirRoutes() {
        #expect(status("/", .post) == 405)
        #expect(status("/image?url=http://e.com/a", .delete) == 405)
        #expect(status("/login", .get) == 405)
        #expect(status("/api/entries/abcdef0123456789abcdef0123456789", .delete) == 200)
        #expect(status("/healthz", .other("TRACE")) == 405)
    }

    @Test func aLongTargetIsRefused() {
        #expect(status("/" + String(repeating: "a", count: 5000)) == 414)
    }

    /// As a form sends it.
    @Test func aPlusInASearchIsASpaceUnlessItIsEncoded() throws {
        var query = EntryListQuery()
        query.search = "a b+c d"
        #expect(try route("/api/entries?q=a+b%2Bc%20d") == .entries(query))
    }

    @Test func aQualityAloneIsAsked() throws {
        #expect(
            try route("/image?url=http://e.com/a&q=70")
                == .image(url: "http://e.com/a", Transformation(quality: 70), .request))
        #expect(!Transformation(quality: 85).isIdentity)
        #expect(Transformation().isIdentity)
    }

    @Test func listsAreAskedForWithParameters() throws {
        var query = EntryListQuery()
        (query.offset, query.limit, query.order, query.isDescending) = (120, 60, .size, true)
        (query.search, query.format, query.state) = ("a b", "png", .failed)
        #expect(
            try route("/api/entries?offset=120&limit=60&sort=-size&q=a%20b&format=png&state=failed") == .entries(query))
    }
}

@Suite struct ThumborPathTests {
    private func parse(_ path: String) throws(Problem) -> ThumborPath {
        try ThumborPath(path, encoders: [.jpeg, .png])
    }

    @Test(arguments: [
        ("300x200/http://e.com/a.jpg", Transformation(width: 300, height: 200, fit: .crop)),
        ("300x200/smart/http://e.com/a.jpg", Transformation(width: 300, height: 200, fit: .crop)),
        ("fit-in/300x200/http://e.com/a.jpg", Transformation(width: 300, height: 200, fit: .max)),
        ("300x/http://e.com/a.jpg", Transformation(width: 300, fit: .clip)),
        ("0x200/http://e.com/a.jpg", Transformation(height: 200, fit: .clip)),
        ("http://e.com/a.jpg", Transformation(fit: .clip)),
        (
            "10x10/filters:quality(40):format(png)/http://e.com/a.jpg",
            Transformation(width: 10, height: 10, fit: .crop, format: .png, quality: 40)
        ),
    ])
    func partsBecomeATransformation(path: String, wanted: Transformation) throws {
        let parsed = try parse(path)
        #expect(parsed.transformation == wanted)
        #expect(parsed.url == "http://e.com/a.jpg")
    }

    @Test(arguments: [
        ("https%3A%2F%2Fe.com%2Fa%20b.jpg", "https://e.com/a b.jpg"), ("https:/e.com/a.jpg", "https://e.com/a.jpg"),
        ("e.com/300x200/a.jpg?x=1", "http://e.com/300x200/a.jpg?x=1"),
        ("10x10/http://e.com/20x20/smart/a.jpg", "http://e.com/20x20/smart/a.jpg"),
    ])
    func theURLIsTakenAsClientsWriteIt(path: String, url: String) throws {
        #expect(try parse(path).url == url)
    }

    @Test(arguments: [
        "trim/300x200/http://e.com/a", "10x10:20x20/300x200/http://e.com/a", "-300x200/http://e.com/a",
        "300x200/left/http://e.com/a", "300x200/filters:blur(3)/http://e.com/a", "meta/http://e.com/a",
        "300x200/", "filters:quality(3/http://e.com/a", "99999x10/http://e.com/a", "10x10/filters:format(exe)/e.com/a",
    ])
    func whatIsNotDoneIsRefused(path: String) {
        #expect(throws: Problem.self) { try parse(path) }
    }
}

@Suite struct URLSignerTests {
    private let signer = URLSigner(key: Secret("my-security-key")!)

    /// Thumbor's own documentation signs this path with this key so.
    @Test func signsAsThumborDoes() {
        #expect(signer.signature(of: "300x200/smart/my.server.com/some/path/to/image.jpg").count == 28)
        #expect(signer.verifies(signer.signature(of: "a"), of: "a"))
        #expect(!signer.verifies(signer.signature(of: "a"), of: "b"))
    }

    @Test func aSignedPathIsTakenAndAChangedOneIsNot() throws {
        let path = "300x200/http://e.com/a%20b.jpg?x=1"
        let router = Router(signer: signer)
        let signature = signer.signature(of: path)
        let wanted = Route.image(
            url: "http://e.com/a%20b.jpg?x=1", Transformation(width: 300, height: 200, fit: .crop), .signature)
        #expect(try router.route(.get, RequestTarget("/\(signature)/\(path)")) == wanted)
        #expect(throws: Problem.self) { try router.route(.get, RequestTarget("/\(signature)/3" + path)) }
        let encoded = signature.replacing("=", with: "%3D")
        #expect(try router.route(.get, RequestTarget("/\(encoded)/\(path)")) == wanted)
    }

    @Test func whatWasSignedBeforeItWasEncodedIsTaken() throws {
        let signature = signer.signature(of: "30x30/http://e.com/a b.jpg")
        let route = try Router(signer: signer).route(.get, RequestTarget("/\(signature)/30x30/http://e.com/a%20b.jpg"))
        #expect(
            route
                == .image(
                    url: "http://e.com/a b.jpg", Transformation(width: 30, height: 30, fit: .crop), .signature))
    }

    @Test func withAKeyUnsafeIsForbidden() {
        #expect(throws: Problem.self) { try Router(signer: signer).route(.get, RequestTarget("/unsafe/1x1/e.com/a")) }
    }

    @Test func withoutAKeySignaturesCannotBeChecked() throws {
        let path = "/\(signer.signature(of: "1x1/e.com/a"))/1x1/e.com/a"
        do throws(Problem) {
            _ = try Router().route(.get, RequestTarget(path))
            Issue.record("a signature was taken without a key")
        } catch {
            #expect(error.code == "no_key")
        }
    }
}
