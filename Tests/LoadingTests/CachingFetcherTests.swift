import Foundation
import TestSupport
import Testing

@testable import Larder

@Suite(.timeLimit(.minutes(2))) struct CachingFetcherTests {
    private typealias Fixture = CachingFetcherFixture

    @Test(arguments: TransportKind.allCases)
    func aMissIsFetchedStoredAndThenAHit(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { _, _ in
            .ok(Fixture.png, ["Cache-Control": "max-age=60", "Content-Type": "image/png"])
        }
        let first = try await fixture.fetch()
        #expect(first.source == .network && !first.isStale && first.attempts == 1 && first.status == 200)
        #expect(try first.readPayload() == Fixture.png)
        #expect(first.header?.format == .png)
        let second = try await fixture.fetch()
        #expect(second.source == .disk && !second.isStale && second.attempts == 0)
        #expect(try second.readPayload() == Fixture.png)
        #expect(second.sha256 == SHA256.digest(Fixture.png))
        #expect(fixture.transport.requests.count == 1)
        #expect(fixture.events.names == ["miss", "sent", "stored", "answered", "hit", "answered"])
        #expect(fixture.temporaryFiles.isEmpty)
    }

    @Test(arguments: TransportKind.allCases)
    func staleIsRevalidatedWithBothValidators(_ kind: TransportKind)
        async throws
    {
        let modified = "Wed, 14 Jan 2026 12:00:00 GMT"
        let fixture = try Fixture(over: kind) { request, _ in
            request.fields["if-none-match"] == nil
                ? .ok(
                    Fixture.png,
                    ["Cache-Control": "max-age=60", "ETag": "\"a\"", "Last-Modified": modified, "X-Old": "1"])
                : .status(304, ["Cache-Control": "max-age=120", "ETag": "\"a\""])
        }
        _ = try await fixture.fetch()
        fixture.time.advance(seconds: 61)
        let second = try await fixture.fetch()
        #expect(second.source == .revalidated && !second.isStale && second.attempts == 1)
        #expect(try second.readPayload() == Fixture.png)
        #expect(second.header?.format == .png)
        let sent = try #require(fixture.transport.requests.last)
        #expect(sent.fields["if-none-match"] == "\"a\"")
        #expect(sent.fields["if-modified-since"] == modified)
        // The 304's own lifetime counts from now on, and the ETag is still there.
        fixture.time.advance(seconds: 119)
        #expect(try await fixture.fetch().source == .disk)
        fixture.time.advance(seconds: 2)
        #expect(try await fixture.fetch().source == .revalidated)
        #expect(fixture.transport.requests.count == 3)
        #expect(fixture.transport.requests.last?.fields["if-none-match"] == "\"a\"")
        #expect(fixture.temporaryFiles.isEmpty)
    }

    @Test(arguments: TransportKind.allCases)
    func aChangedImageReplacesTheOldOne(_ kind: TransportKind) async throws {
        let other = SampleImage.png(300)
        let fixture = try Fixture(over: kind) { _, number in
            .ok(number == 1 ? Fixture.png : other, ["Cache-Control": "max-age=60", "ETag": "\"\(number)\""])
        }
        _ = try await fixture.fetch()
        fixture.time.advance(seconds: 61)
        let second = try await fixture.fetch()
        #expect(second.source == .network)
        #expect(try second.readPayload() == other)
        #expect(try await fixture.fetch().readPayload() == other)
    }

    @Test(arguments: TransportKind.allCases)
    func a304NeverLosesMustRevalidate(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { request, number in
            switch number {
            case 1: .ok(Fixture.png, ["Cache-Control": "max-age=60, must-revalidate", "ETag": "\"a\""])
            case 2: .status(304, ["Cache-Control": "max-age=60"])
            default: .fail(.unreachable(.init("down")))
            }
        }
        _ = try await fixture.fetch()
        fixture.time.advance(seconds: 61)
        #expect(try await fixture.fetch().source == .revalidated)
        fixture.time.advance(seconds: 61)
        let retries = Task { fixture.time.advance(seconds: 0) }
        await retries.value
        #expect(await fixture.error(policy: .offlineOnly())?.code == "not_cached")
    }

    @Test(arguments: TransportKind.allCases)
    func a304ThatNamesAnotherVersionIsAskedAnewWithoutConditions(
        _ kind: TransportKind
    ) async throws {
        let fixture = try Fixture(over: kind) { request, number in
            request.fields["if-none-match"] == nil
                ? .ok(Fixture.png, ["Cache-Control": "max-age=60", "ETag": "\"\(number)\""])
                : .status(304, ["ETag": "\"other\""])
        }
        _ = try await fixture.fetch()
        fixture.time.advance(seconds: 61)
        let second = try await fixture.fetch()
        #expect(second.source == .network && second.attempts == 2)
        #expect(fixture.transport.requests.count == 3)
        #expect(fixture.transport.requests[2].fields["if-none-match"] == nil)
    }

    @Test(arguments: TransportKind.allCases)
    func a304ForAnEntryThatHasGoneIsAskedAnew(_ kind: TransportKind)
        async throws
    {
        // Larger than what is read along with an entry's tail.
        let image = SampleImage.png(200_000)
        let holder = Lock<DiskTier?>(nil)
        let key = CacheKey(url: "http://example.com/a.png")
        let fixture = try Fixture(over: kind) { request, _ in
            guard request.fields["if-none-match"] != nil else {
                return .ok(image, ["Cache-Control": "max-age=60", "ETag": "\"a\""])
            }
            // Its bytes are damaged while the server is being asked.
            if let disk = holder.withLock({ $0 }) {
                let path = disk.path + "/" + key.file
                if let file = FileHandle(forUpdatingAtPath: path) {
                    try? file.truncate(atOffset: 10)
                    try? file.close()
                }
            }
            return .status(304)
        }
        holder.withLock { $0 = fixture.disk }
        _ = try await fixture.fetch()
        fixture.time.advance(seconds: 61)
        let second = try await fixture.fetch()
        #expect(second.source == .network)
        #expect(try second.readPayload() == image)
    }

    @Test(arguments: TransportKind.allCases)
    func noStoreComesInMemoryAndLeavesNothing(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { _, _ in .ok(Fixture.png, ["Cache-Control": "no-store"]) }
        let first = try await fixture.fetch()
        guard case .memory(let bytes, let metadata) = first.payload else {
            Issue.record("stored")
            return
        }
        #expect(bytes == Fixture.png && metadata.header?.format == .png)
        #expect(metadata.sha256 == SHA256.digest(Fixture.png))
        #expect(try await fixture.fetch().source == .network)
    }

    @Test(arguments: TransportKind.allCases)
    func anAnswerThatMayNotBeStoredTakesTheOldOneAway(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { _, number in
            .ok(Fixture.png, ["Cache-Control": number == 1 ? "max-age=60" : "no-store"])
        }
        _ = try await fixture.fetch()
        _ = try await fixture.fetch(policy: .reload)
        #expect(try await fixture.fetch().source == .network)
    }

    @Test(arguments: TransportKind.allCases)
    func withoutADiskTierEverythingComesInMemory(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind, hasDisk: false) { _, _ in
            .ok(Fixture.png, ["Cache-Control": "max-age=60"])
        }
        #expect(try await fixture.fetch().readPayload() == Fixture.png)
        #expect(try await fixture.fetch().source == .network)
        #expect(await fixture.error(policy: .offlineOnly())?.code == "not_cached")
    }

    @Test(arguments: TransportKind.allCases)
    func varyIsAMissThatReplaces(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { request, _ in
            .ok(
                SampleImage.png(request.fields["accept"] == "a" ? 200 : 300),
                ["Cache-Control": "max-age=60", "Vary": "Accept"])
        }
        #expect(try await fixture.fetch(fields: ["Accept": "a"]).payloadLength == 200)
        #expect(try await fixture.fetch(fields: ["Accept": "a"]).source == .disk)
        let other = try await fixture.fetch(fields: ["Accept": "b"])
        #expect(other.source == .network && other.payloadLength == 300)
        #expect(try await fixture.fetch(fields: ["Accept": "b"]).source == .disk)
        #expect(try await fixture.fetch(fields: ["Accept": "a"]).source == .network)
        #expect(fixture.transport.requests.allSatisfy { $0.fields["if-none-match"] == nil })
    }

    @Test(arguments: TransportKind.allCases)
    func credentialsHaveAKeyOfTheirOwnAndAreMarkedPrivate(
        _ kind: TransportKind
    ) async throws {
        let fixture = try Fixture(over: kind) { _, _ in .ok(Fixture.png, ["Cache-Control": "max-age=60"]) }
        let secret = try await fixture.fetch(fields: ["Authorization": "Bearer a"])
        #expect(try await fixture.fetch(fields: ["Authorization": "Bearer a"]).source == .disk)
        #expect(try await fixture.fetch(fields: ["Authorization": "Bearer b"]).source == .network)
        #expect(try await fixture.fetch().source == .network)
        #expect(try await fixture.fetch(fields: ["X-Api-Key": "k"]).source == .network)
        guard case .entry(let entry) = secret.payload else { return }
        #expect(entry.isPrivate && entry.key.partition?.count == 64)
        guard case .entry(let open)? = try? await fixture.fetch().payload else { return }
        #expect(!open.isPrivate)
    }

    @Test(arguments: TransportKind.allCases)
    func whatIsAnsweredPrivateIsMarked(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { _, _ in
            .ok(Fixture.png, ["Cache-Control": "private, max-age=60", "Set-Cookie": "id=1"])
        }
        let result = try await fixture.fetch()
        guard case .entry(let entry) = result.payload else { return }
        #expect(entry.isPrivate)
        #expect(try entry.metadata().fields["set-cookie"] == nil)
        #expect(try await fixture.fetch().source == .disk)
    }

    // MARK: Policies

    @Test(arguments: TransportKind.allCases)
    func immutableUsesWhatIsStoredWhateverItsAge(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { _, _ in .ok(Fixture.png, ["Cache-Control": "max-age=1"]) }
        _ = try await fixture.fetch()
        fixture.time.advance(seconds: 1e9)
        let result = try await fixture.fetch(policy: .immutable)
        #expect(result.source == .disk && !result.isStale)
    }

    @Test(arguments: TransportKind.allCases)
    func reloadFetchesTheWholeAnewAndAFailureKeepsTheOldOne(
        _ kind: TransportKind
    ) async throws {
        let fixture = try Fixture(over: kind) { request, number in
            number == 2 ? .status(404) : .ok(Fixture.png, ["Cache-Control": "max-age=60", "ETag": "\"a\""])
        }
        _ = try await fixture.fetch()
        #expect(await fixture.error(policy: .reload)?.code == "http_status")
        #expect(try await fixture.fetch().source == .disk)
        #expect(try await fixture.fetch(policy: .reload).source == .network)
        #expect(fixture.transport.requests.allSatisfy { $0.fields["if-none-match"] == nil })
    }

    @Test(arguments: TransportKind.allCases)
    func revalidateAsksAlthoughFresh(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { request, _ in
            request.fields["if-none-match"] == nil
                ? .ok(Fixture.png, ["Cache-Control": "max-age=60", "ETag": "\"a\""]) : .status(304)
        }
        _ = try await fixture.fetch()
        #expect(try await fixture.fetch(policy: .revalidate).source == .revalidated)
    }

    @Test(arguments: TransportKind.allCases)
    func offlineNeverUsesTheNetwork(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { _, _ in .ok(Fixture.png, ["Cache-Control": "max-age=60"]) }
        #expect(await fixture.error(policy: .offlineOnly())?.code == "not_cached")
        _ = try await fixture.fetch()
        fixture.time.advance(seconds: 100)
        let stale = try await fixture.fetch(policy: .offlineOnly(maxStale: 50))
        #expect(stale.source == .disk && stale.isStale)
        fixture.time.advance(seconds: 100)
        #expect(await fixture.error(policy: .offlineOnly(maxStale: 50))?.code == "not_cached")
        #expect(fixture.transport.requests.count == 1)
    }

    @Test(arguments: TransportKind.allCases)
    func freshEntryFindsWhatIsFreshAndNothingElse(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { _, _ in
            .ok(Fixture.png, ["Cache-Control": "max-age=60, stale-while-revalidate=60"])
        }
        let request = try fixture.request()
        #expect(await fixture.fetcher.freshEntry(for: request) == nil)
        _ = try await fixture.fetch()
        #expect(await fixture.fetcher.freshEntry(for: request)?.payloadLength == 200)
        fixture.time.advance(seconds: 61)
        #expect(await fixture.fetcher.freshEntry(for: request) == nil)
        #expect(fixture.transport.requests.count == 1)
    }

    // MARK: Stale

    @Test(arguments: TransportKind.allCases)
    func staleWhileRevalidateAnswersAtOnceAndAsksBehind(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { _, number in
            .ok(SampleImage.png(100 + number), ["Cache-Control": "max-age=60, stale-while-revalidate=60"])
        }
        _ = try await fixture.fetch()
        fixture.time.advance(seconds: 61)
        let stale = try await fixture.fetch()
        #expect(stale.source == .disk && stale.isStale && stale.payloadLength == 101)
        await fixture.fetcher.backgroundWork()
        let new = try await fixture.fetch()
        #expect(new.source == .disk && !new.isStale && new.payloadLength == 102)
        #expect(fixture.transport.requests.count == 2)
    }

    @Test(arguments: TransportKind.allCases)
    func backgroundRevalidationsAreBoundedAndOneAKey(_ kind: TransportKind)
        async throws
    {
        let valve = ScriptedTransport.Valve()
        var configuration = FetcherConfiguration()
        configuration.maxBackgroundRevalidations = 2
        let fixture = try Fixture(over: kind, configuration: configuration) { _, number in
            let reply = ScriptedTransport.Reply.ok(
                Fixture.png, ["Cache-Control": "max-age=60, stale-while-revalidate=600"])
            return number <= 4 ? reply : reply.headHeld(by: valve)
        }
        for path in ["/1", "/2", "/3", "/4"] { _ = try await fixture.fetch(path) }
        fixture.time.advance(seconds: 61)
        for path in ["/1", "/1", "/2", "/3", "/4", "/2"] { #expect(try await fixture.fetch(path).isStale) }
        await fixture.transport.requests(atLeast: 6)
        valve.open()
        await fixture.fetcher.backgroundWork()
        #expect(fixture.transport.requests.count == 6)
    }

    @Test(arguments: TransportKind.allCases)
    func aFailedRevalidationServesTheStoredImageAndSaysSo(
        _ kind: TransportKind
    ) async throws {
        let fixture = try Fixture(over: kind) { _, number in
            switch number {
            case 1: .ok(Fixture.png, ["Cache-Control": "max-age=60, stale-if-error=100"])
            case 2: .fail(.unreachable(.init("down")))
            case 3: .status(503)
            default: .status(404)
            }
        }
        _ = try await fixture.fetch()
        fixture.time.advance(seconds: 61)
        for _ in 0..<2 {
            let stale = try await fixture.fetch()
            #expect(stale.source == .disk && stale.isStale && stale.attempts == 1)
        }
        #expect(fixture.events.names.filter { $0 == "servedStale" }.count == 2)
        // A 404 is an answer, and no fault of the server: nothing stands in, and nothing is lost.
        #expect(await fixture.error()?.code == "http_status")
        #expect(try await fixture.fetch(policy: .offlineOnly()).isStale)
    }

    @Test(arguments: TransportKind.allCases)
    func mustRevalidateForbidsAStaleAnswer(_ kind: TransportKind) async throws {
        var configuration = FetcherConfiguration()
        configuration.retries = .none
        let fixture = try Fixture(over: kind, configuration: configuration) { _, number in
            number == 1
                ? .ok(Fixture.png, ["Cache-Control": "max-age=60, must-revalidate"])
                : .fail(.unreachable(.init("down")))
        }
        _ = try await fixture.fetch()
        fixture.time.advance(seconds: 61)
        #expect(await fixture.error()?.code == "unreachable")
    }

    // MARK: Checks

    @Test(arguments: TransportKind.allCases)
    func whatIsNoImageIsRefusedEarlyAndNotStored(_ kind: TransportKind)
        async throws
    {
        let valve = ScriptedTransport.Valve()
        let page = Array("<!doctype html><html><body>Not found</body></html>".utf8)
        let fixture = try Fixture(over: kind) { _, _ in
            .ok(page, ["Content-Type": "image/jpeg", "Cache-Control": "max-age=60"]).ending(.held(valve))
        }
        #expect(await fixture.error()?.code == "not_an_image")
        // The transfer was ended although the server had not.
        await fixture.transport.cancelled(atLeast: 1)
        #expect(fixture.directory.files().filter { $0.contains("/") && !$0.hasPrefix("state") }.isEmpty)
    }

    @Test(arguments: TransportKind.allCases)
    func aWrongHashIsRefusedAndTheGoodEntryStays(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { _, number in
            .ok(number == 1 ? Fixture.png : SampleImage.png(300), ["Cache-Control": "max-age=60"])
        }
        var request = try fixture.request()
        request.sha256 = SHA256.digest(Fixture.png)
        _ = try await fixture.fetcher.fetch(request)
        #expect(try await fixture.fetcher.fetch(request).source == .disk)
        request.policy = .reload
        let error = await #expect(throws: ImageError.self) { try await fixture.fetcher.fetch(request) }
        #expect(error?.code == "hash_mismatch")
        #expect(try await fixture.fetch().readPayload() == Fixture.png)
        request.policy = .http
        request.sha256 = SHA256.digest(SampleImage.png(300))
        #expect(try await fixture.fetcher.fetch(request).source == .network)
        #expect(fixture.temporaryFiles.isEmpty)
    }

    @Test(arguments: TransportKind.allCases)
    func aBodyThatIsTooLargeIsRefused(_ kind: TransportKind) async throws {
        let fixture = try Fixture(over: kind) { _, _ in .ok(SampleImage.png(5000)).inPieces(of: 1000) }
        var request = try fixture.request()
        request.maxBytes = 3000
        let error = await #expect(throws: ImageError.self) { try await fixture.fetcher.fetch(request) }
        #expect(error?.code == "too_large")
        #expect(error?.url == "http://example.com/a.png")
    }

    @Test(arguments: TransportKind.allCases)
    func aTypeThatTheBytesContradictIsReported(_ kind: TransportKind)
        async throws
    {
        let fixture = try Fixture(over: kind) { _, number in
            .ok(Fixture.png, ["Content-Type": number == 1 ? "image/jpeg" : "image/png"])
        }
        #expect(try await fixture.fetch("/1").contentTypeMismatch)
        #expect(try await !fixture.fetch("/2").contentTypeMismatch)
    }

    @Test(arguments: TransportKind.allCases)
    func largeBodiesAreWrittenInBatches(_ kind: TransportKind) async throws {
        var configuration = FetcherConfiguration()
        configuration.batchBytes = 4096
        let image = SampleImage.png(100_000)
        let fixture = try Fixture(over: kind, configuration: configuration) { _, _ in .ok(image).inPieces(of: 1000) }
        let result = try await fixture.fetch()
        #expect(try result.readPayload() == image)
        #expect(result.sha256 == SHA256.digest(image))
        #expect(fixture.temporaryFiles.isEmpty)
    }

    @Test(arguments: TransportKind.allCases)
    func progressTellsBytesAndTheHeader(_ kind: TransportKind) async throws {
        let image = SampleImage.png(10_000)
        let fixture = try Fixture(over: kind) { _, _ in .ok(image, ["Content-Length": "10000"]) }
        let seen = Lock<[FetchProgress]>([])
        _ = try await fixture.fetcher.fetch(fixture.request()) { progress in seen.withLock { $0.append(progress) } }
        let last = try #require(seen.withLock { $0.last })
        #expect(last.received == 10_000 && last.expected == 10_000 && last.header?.format == .png)
    }

    @Test func credentialsAreKnownByName() {
        for name in [
            "Authorization", "cookie", "Proxy-Authorization", "X-Auth-Token", "x-api-key", "X-Amz-Security-Token",
        ] {
            #expect(Credentials.isCredential(name))
        }
        for name in ["Accept", "User-Agent", "Referer", "Accept-Language", "If-None-Match", "X-Request-Id"] {
            #expect(!Credentials.isCredential(name))
        }
        let one = Credentials.partition(["Authorization": "a", "Cookie": "b"])
        #expect(one == Credentials.partition(["cookie": "b", "authorization": "a"]))
        #expect(one != Credentials.partition(["Authorization": "b", "Cookie": "a"]))
        #expect(Credentials.partition(["Accept": "*/*"]) == nil)
    }
}
