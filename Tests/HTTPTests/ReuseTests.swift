import Testing

@testable import Larder

@Suite struct ReuseTests {
    private let stored = Timestamp(milliseconds: 1_768_478_400_000)

    private func at(_ seconds: Int64) -> Timestamp { stored.adding(seconds: seconds) }

    /// Fresh for 60 s.
    private func freshness(
        _ control: String = "", options: FreshnessOptions = .init()
    ) -> StoredFreshness {
        Freshness(
            status: 200, fields: ["Cache-Control": "max-age=60, " + control], requestTime: stored, responseTime: stored
        ).stored(options)
    }

    private func decide(
        _ control: String = "", policy: CachePolicy = .http, request: String = "", at seconds: Int64
    ) -> Reuse {
        Reuse.decide(
            freshness(control), storedAt: stored, policy: policy, request: CacheControl([request]), now: at(seconds),
            age: { seconds })
    }

    @Test func freshIsUsedAndStaleIsAskedFor() {
        #expect(decide(at: 0) == .fresh)
        #expect(decide(at: 59) == .fresh)
        #expect(decide(at: 60) == .revalidate)
    }

    @Test func noCacheIsAlwaysAskedFor() {
        #expect(decide("no-cache", at: 1) == .revalidate)
        #expect(decide("no-cache", policy: .offlineOnly(), at: 1) == .unusable)
    }

    @Test func requestDirectivesAreKept() {
        #expect(decide(request: "no-cache", at: 1) == .revalidate)
        #expect(decide(request: "max-age=0", at: 1) == .revalidate)
        #expect(decide(request: "max-age=10", at: 5) == .fresh)
        #expect(decide(request: "max-age=10", at: 11) == .revalidate)
        #expect(decide(request: "min-fresh=30", at: 20) == .fresh)
        #expect(decide(request: "min-fresh=30", at: 40) == .revalidate)
        #expect(decide(request: "max-stale", at: 6000) == .stale)
        #expect(decide(request: "max-stale=30", at: 80) == .stale)
        #expect(decide(request: "max-stale=30", at: 100) == .revalidate)
        #expect(decide("must-revalidate", request: "max-stale", at: 80) == .revalidate)
    }

    @Test func staleWhileRevalidateHasItsWindow() {
        #expect(decide("stale-while-revalidate=30", at: 59) == .fresh)
        #expect(decide("stale-while-revalidate=30", at: 60) == .staleWhileRevalidate)
        #expect(decide("stale-while-revalidate=30", at: 89) == .staleWhileRevalidate)
        #expect(decide("stale-while-revalidate=30", at: 90) == .revalidate)
        #expect(decide("stale-while-revalidate=30, must-revalidate", at: 70) == .revalidate)
    }

    @Test func immutablePolicyTakesWhatIsThere() {
        #expect(decide(policy: .immutable, at: 1 << 30) == .fresh)
    }

    @Test func reloadAlwaysFetchesAnew() {
        #expect(decide("immutable", policy: .reload, at: 1) == .refetch)
    }

    @Test func revalidateAsksEvenWhereFreshUnlessImmutable() {
        #expect(decide(policy: .revalidate, at: 1) == .revalidate)
        #expect(decide("immutable", policy: .revalidate, at: 1) == .fresh)
        #expect(decide("immutable", policy: .revalidate, at: 61) == .revalidate)
        #expect(decide("immutable, no-cache", policy: .revalidate, at: 1) == .revalidate)
    }

    @Test func offlineTakesWhatIsStaleEnough() {
        #expect(decide(policy: .offlineOnly(), at: 1) == .fresh)
        #expect(decide(policy: .offlineOnly(), at: 1 << 30) == .stale)
        #expect(decide(policy: .offlineOnly(maxStale: 100), at: 160) == .stale)
        #expect(decide(policy: .offlineOnly(maxStale: 100), at: 161) == .unusable)
        #expect(decide(policy: .offlineOnly(maxStale: .infinity), at: 1 << 30) == .stale)
        #expect(decide(policy: .offlineOnly(maxStale: -.infinity), at: 61) == .unusable)
        #expect(decide("must-revalidate", policy: .offlineOnly(), at: 59) == .fresh)
        #expect(decide("must-revalidate", policy: .offlineOnly(), at: 61) == .unusable)
    }

    @Test func anEntryFromTheFutureIsNotTrusted() {
        #expect(decide(at: -3600) == .fresh)
        #expect(decide(at: -3602) == .revalidate)
    }

    @Test func errorsOfTheServerLetAStaleImageStandIn() {
        let unreachable = ImageError.unreachable(.init())
        func serves(
            _ control: String, _ error: ImageError, policy: CachePolicy = .http, at seconds: Int64 = 100,
            options: FreshnessOptions = .init()
        ) -> Bool {
            Reuse.mayServeOnError(freshness(control, options: options), policy: policy, error: error, now: at(seconds))
        }
        #expect(serves("", unreachable))
        #expect(serves("", .timedOut(.connect, .init())))
        #expect(serves("", .httpStatus(503, .init())))
        #expect(serves("", .httpStatus(500, .init())))
        #expect(serves("", .httpStatus(429, .init())))
        #expect(!serves("", .httpStatus(404, .init())))
        #expect(!serves("", .httpStatus(403, .init())))
        #expect(!serves("", .notAnImage(.init())))
        #expect(!serves("", .cancelled(.init())))
        #expect(!serves("must-revalidate", unreachable))
        #expect(serves("must-revalidate", unreachable, policy: .revalidate, at: 30))
        #expect(!serves("no-cache", unreachable))
        #expect(!serves("", unreachable, policy: .reload))
        #expect(serves("stale-if-error=50", unreachable, at: 109))
        #expect(!serves("stale-if-error=50", unreachable, at: 110))
        #expect(!serves("", unreachable, options: FreshnessOptions(staleIfError: 10)))
    }
}
