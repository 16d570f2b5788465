import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderServer

@Suite struct ImageServerTests {
    private let fixture: ServerFixture
    private let bytes = (0..<200).map { UInt8($0) }
    private let url = "https://example.com/a.png"
    private let target = "/image?url=https%3A%2F%2Fexample.com%2Fa.png"

    init() throws { fixture = try ServerFixture() }

    @Test func anImageComesWithAllThatGoesWithIt() async throws {
        let entry = try fixture.store(url, bytes)
        let answer = await fixture.server().answer(target)
        #expect(answer.status == 200)
        #expect(answer.bytes == bytes)
        #expect(answer.fields["Content-Type"] == "image/png")
        #expect(answer.fields["ETag"] == "\"\(entry.sha256.prefix(16).hex)\"")
        #expect(answer.fields["Last-Modified"] == HTTPDate.format(fixture.time.now))
        #expect(answer.fields["Cache-Control"] == "public, max-age=3600")
        #expect(answer.code == "hit")
        #expect(answer.route == .image)
        let byName = await fixture.server().answer("/files/\(entry.file).png")
        #expect(byName.status == 200)
        #expect(byName.bytes == bytes)
    }

    @Test func theURLIsNormalised() async throws {
        try fixture.store(url, bytes)
        #expect(
            await fixture.server().answer("/image?url=HTTPS%3A%2F%2FEXAMPLE.com%3A443%2Fb%2F..%2Fa.png").status == 200)
    }

    @Test func whatIsNotThereIsAProblem() async throws {
        let server = fixture.server()
        let answer = await server.answer(target)
        #expect(answer.status == 404)
        #expect(answer.fields["Content-Type"] == "application/problem+json")
        #expect(answer.text.contains("\"code\":\"not_cached\""))
        #expect(await server.answer("/files/ab/cdef0123456789abcdef0123456789").status == 404)
        #expect(await server.answer("/image?url=ftp%3A%2F%2Fexample.com%2Fa").status == 403)
        #expect(await server.answer("/image?url=http%3A%2F%2F").status == 400)
    }

    @Test func aDamagedEntryIsNeverSent() async throws {
        let entry = try fixture.store(url, bytes)
        let path = fixture.directory.appendingPathComponent(entry.file).path
        let handle = try #require(FileHandle(forUpdatingAtPath: path))
        try handle.seek(toOffset: 50)
        try handle.write(contentsOf: Data([255, 0, 255]))
        try handle.close()
        let server = fixture.server()
        #expect(await server.answer(target).status == 404)
        #expect(await server.answer(target).status == 404)
    }

    @Test func bytesThatWereCheckedOnceAreSentAtOnce() async throws {
        try fixture.store(url, bytes)
        let server = fixture.server()
        let request = Request(.get, target, fields: ["Host": "localhost"])
        guard case .later(let work) = server.respond(to: request) else {
            return #expect(Bool(false), "the bytes were not checked")
        }
        #expect(await work().status == 200)
        guard case .now(let answer) = server.respond(to: request) else {
            return #expect(Bool(false), "the bytes were checked again")
        }
        #expect(answer.bytes == bytes)
    }

    @Test func privateImagesWantAToken() async throws {
        let entry = try fixture.store(url, bytes, isPrivate: true)
        #expect(await fixture.server().answer(target).status == 403)
        let server = fixture.server(access: AccessControl(token: Secret("t")))
        let bearer: HTTPFields = ["Authorization": "Bearer t"]
        let answer = await server.answer(target, .get, bearer)
        #expect(answer.status == 200)
        #expect(answer.fields["Cache-Control"]?.hasPrefix("private") == true)
        let partitioned = try fixture.store(url, bytes, partition: String(repeating: "a", count: 64))
        #expect(await fixture.server().answer("/files/\(partitioned.file)").status == 403)
        #expect(await server.answer("/files/\(entry.file)", .get, bearer).status == 200)
    }

    @Test func anotherHostIsNotAnsweredTo() async throws {
        try fixture.store(url, bytes)
        let server = fixture.server()
        let request = Request(.get, target, fields: ["Host": "evil.example"])
        guard case .now(let answer) = server.respond(to: request) else { return #expect(Bool(false)) }
        #expect(answer.status == 421)
        #expect(await fixture.server { $0.serverNames = ["evil.example"] }.answer(target).status == 200)
    }

    @Test func aReloadPutsNewKeysInForce() async throws {
        try fixture.store(url, bytes)
        let server = fixture.server(access: AccessControl(token: Secret("old")))
        #expect(await server.answer(target, .get, ["Authorization": "Bearer old"]).status == 200)
        server.reload(AccessControl(token: Secret("new")))
        #expect(await server.answer(target, .get, ["Authorization": "Bearer old"]).status == 401)
        #expect(await server.answer(target, .get, ["Authorization": "Bearer new"]).status == 200)
    }

    @Test func aBrowserLogsIn() async throws {
        try fixture.store(url, bytes)
        let server = fixture.server(access: AccessControl(token: Secret("t")))
        #expect(await server.answer("/login", .post, ["Authorization": "Bearer x"]).status == 401)
        let answer = await server.answer(
            "/login", .post, ["Authorization": "Bearer t", "X-Forwarded-Proto": "https"])
        #expect(answer.status == 204)
        let cookie = try #require(answer.fields["Set-Cookie"])
        #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Secure"))
        let value = cookie.prefix { $0 != ";" }
        #expect(await server.answer(target, .get, ["Cookie": String(value)]).status == 200)
        #expect(await server.answer("/logout", .post).fields["Set-Cookie"]?.contains("Max-Age=0") == true)
    }

    @Test func theGalleryRunsNothingButItsOwn() async throws {
        let answer = await fixture.server(access: AccessControl(token: Secret("t"))).answer("/")
        #expect(answer.status == 200)
        let policy = try #require(answer.fields["Content-Security-Policy"])
        #expect(policy.contains("default-src 'none'") && policy.contains("script-src 'sha256-"))
        #expect(answer.text.contains("<title>Larder</title>"))
        #expect(!answer.text.contains("{{"))
        #expect(!answer.text.contains("http://") || !answer.text.contains("<script src"))
        let again = await fixture.server().answer("/", .get, ["If-None-Match": answer.fields["ETag"] ?? ""])
        #expect(again.status == 304)
    }

    @Test func healthAndMetricsAnswer() async throws {
        let server = fixture.server()
        #expect(await server.answer("/healthz").text == "{\"status\":\"ok\"}")
        let metrics = await server.answer("/metrics")
        #expect(metrics.fields["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
        #expect(metrics.text.contains("larder_images_total"))
    }
}

@Suite struct ThumbnailTests {
    private let fixture: ServerFixture
    private let url = "https://example.com/a.png"
    private let target = "/image?url=https%3A%2F%2Fexample.com%2Fa.png"

    init() throws { fixture = try ServerFixture() }

    private func size(_ answer: Answer) throws -> [Int] {
        let header = try answer.bytes.withUnsafeBytes { try ImageDecoder.header(of: $0, limits: ImageLimits()) }
        return [header.width, header.height]
    }

    @Test func aThumbnailIsMadeOnceAndKept() async throws {
        _ = try fixture.storePicture(url)
        let server = fixture.server()
        let first = await server.answer(target + "&w=16")
        #expect(first.status == 200)
        #expect(first.code == "made")
        #expect(first.fields["Content-Type"] == "image/jpeg")
        #expect(try size(first) == [16, 8])
        let second = await server.answer(target + "&w=16")
        #expect(second.code == "hit")
        #expect(second.bytes == first.bytes)
        #expect(second.fields["ETag"] == first.fields["ETag"])
    }

    @Test(arguments: [
        ("&w=16&h=16", [16, 8]), ("&w=16&h=16&fit=crop", [16, 16]), ("&w=128&fit=max", [64, 32]),
        ("&w=128", [128, 64]), ("&w=8&dpr=2", [16, 8]), ("&h=4&fm=png", [8, 4]), ("&fm=png", [64, 32]),
    ])
    func sizesAreThoseOfImgix(parameters: String, wanted: [Int]) async throws {
        _ = try fixture.storePicture(url)
        let answer = await fixture.server().answer(target + parameters)
        #expect(answer.status == 200)
        #expect(try size(answer) == wanted)
    }

    @Test func thumborsPathMakesTheSame() async throws {
        _ = try fixture.storePicture(url)
        let server = fixture.server()
        #expect(try size(await server.answer("/unsafe/16x16/\(url)")) == [16, 16])
        #expect(try size(await server.answer("/unsafe/fit-in/16x16/\(url)")) == [16, 8])
        #expect(await server.answer("/unsafe/trim/16x16/\(url)").status == 400)
    }

    @Test func manyWhoWantTheSameShareTheWork() async throws {
        _ = try fixture.storePicture(url, width: 640, height: 480)
        let server = fixture.server()
        let made = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<32 {
                group.addTask { await server.answer(target + "&w=100").status }
            }
            return await group.reduce(into: [Int]()) { $0.append($1) }
        }
        #expect(made == Array(repeating: 200, count: 32))
        #expect(await server.answer("/metrics").text.contains("larder_thumbnail_duration_seconds_count 1\n"))
    }

    @Test func strangersGetTheNamedSizesOnly() async throws {
        _ = try fixture.storePicture(url)
        let signer = URLSigner(key: Secret("k")!)
        let server = fixture.server(access: AccessControl(token: Secret("t"), signer: signer)) {
            $0.allowedSizes = ["16x16"]
        }
        let open = fixture.server { $0.allowedSizes = ["16x16"] }
        #expect(await open.answer(target + "&w=16&h=16").status == 200)
        #expect(await open.answer(target + "&w=17&h=17").status == 400)
        #expect(await server.answer(target + "&w=18&h=18", .get, ["Authorization": "Bearer t"]).status == 200)
        let path = "19x19/\(url)"
        #expect(await server.answer("/\(signer.signature(of: path))/\(path)").status == 200)
    }

    @Test func whatCannotBeDecodedIsSaid() async throws {
        try fixture.store(url, Array("no picture".utf8))
        #expect(await fixture.server().answer(target + "&w=16").status == 422)
        let avif = "https://example.com/b.avif"
        try fixture.store(
            avif, [1, 2, 3], header: ImageHeader(format: .avif, width: 8, height: 8, undecodable: "AVIF"))
        let answer = await fixture.server().answer("/image?url=\(avif)&w=16")
        #expect(answer.status == 422)
        #expect(answer.text.contains("unsupported_format"))
    }

    @Test func anotherSourceMakesAnotherThumbnail() async throws {
        _ = try fixture.storePicture(url)
        let server = fixture.server()
        let first = await server.answer(target + "&w=16")
        _ = try fixture.storePicture(url, width: 32, height: 32)
        let second = await server.answer(target + "&w=16")
        #expect(second.code == "made")
        #expect(try size(first) == [16, 8])
        #expect(try size(second) == [16, 16])
    }
}

@Suite struct StartRulesTests {
    private func refusal(_ change: (inout StartRules) -> Void) -> String? {
        var rules = StartRules(
            isReachable: false, hasToken: false, hasKey: false, fetches: false, hasAllowedHosts: false,
            isPublicOnly: false, transportChecksAddresses: false)
        change(&rules)
        do throws(StartRules.Refusal) {
            try rules.check()
            return nil
        } catch { return error.message }
    }

    @Test func otherMachinesWantASecret() {
        #expect(refusal { _ in } == nil)
        #expect(refusal { $0.isReachable = true } != nil)
        #expect(refusal { ($0.isReachable, $0.hasKey) = (true, true) } == nil)
        #expect(refusal { ($0.isReachable, $0.hasToken) = (true, true) } == nil)
    }

    @Test func fetchingIsBounded() {
        #expect(refusal { $0.fetches = true } != nil)
        #expect(refusal { ($0.fetches, $0.hasAllowedHosts) = (true, true) } == nil)
        #expect(refusal { ($0.fetches, $0.isPublicOnly) = (true, true) } != nil)
        #expect(refusal { ($0.fetches, $0.isPublicOnly, $0.transportChecksAddresses) = (true, true, true) } == nil)
    }
}
