import Larder
import Testing

@testable import LarderServer

@Suite struct ByteRangeTests {
    @Test(arguments: [
        ("bytes=0-9", ByteRange.Outcome.part(offset: 0, length: 10)), ("bytes=90-", .part(offset: 90, length: 10)),
        ("bytes=-5", .part(offset: 95, length: 5)), ("bytes=-500", .part(offset: 0, length: 100)),
        ("BYTES = 0-0", .whole), ("Bytes=0-0", .part(offset: 0, length: 1)),
        ("bytes=50-1000", .part(offset: 50, length: 50)), ("bytes=100-", .unsatisfiable),
        ("bytes=-0", .unsatisfiable), ("bytes=0-1,5-6", .whole), ("bytes= 0-1 ", .part(offset: 0, length: 2)),
        ("bytes=,0-1,", .part(offset: 0, length: 2)), ("bytes=9-5", .whole), ("bytes=a-b", .whole),
        ("bytes=--5", .whole), ("bytes=", .whole), ("items=0-5", .whole), ("", .whole),
        ("bytes=99999999999999999999999-", .unsatisfiable),
        ("bytes=0-99999999999999999999999", .part(offset: 0, length: 100)),
    ])
    func oneRangeIsHonoured(field: String, outcome: ByteRange.Outcome) {
        #expect(ByteRange.parse(field, length: 100) == outcome)
    }

    @Test func anEmptyRepresentationHasNoRange() {
        #expect(ByteRange.parse("bytes=0-", length: 0) == .unsatisfiable)
        #expect(ByteRange.parse("bytes=-1", length: 0) == .unsatisfiable)
    }
}

@Suite struct PreconditionsTests {
    private let now = Timestamp(milliseconds: 1_768_478_400_000)
    private let preconditions = Preconditions(
        etag: "\"abc\"", lastModified: Timestamp(milliseconds: 1_768_392_000_123), length: 100)
    private var date: String { HTTPDate.format(Timestamp(milliseconds: 1_768_392_000_000)) }
    private var before: String { HTTPDate.format(Timestamp(milliseconds: 1_768_391_999_000)) }

    private func outcome(_ fields: HTTPFields, _ method: Request.Method = .get) -> Preconditions.Outcome {
        preconditions.evaluate(fields, method: method, now: now)
    }

    @Test func tagsDecideBeforeDates() {
        #expect(outcome(["If-None-Match": "\"abc\""]) == .notModified)
        #expect(outcome(["If-None-Match": "\"x\", W/\"abc\""]) == .notModified)
        #expect(outcome(["If-None-Match": "*"]) == .notModified)
        #expect(outcome(["If-None-Match": "\"x\"", "If-Modified-Since": date]) == .whole)
        #expect(outcome(["If-None-Match": "abc"]) == .whole)
    }

    @Test func datesHaveWholeSeconds() {
        #expect(outcome(["If-Modified-Since": date]) == .notModified)
        #expect(outcome(["If-Modified-Since": before]) == .whole)
        #expect(outcome(["If-Modified-Since": "yesterday"]) == .whole)
    }

    @Test func whatMustMatchFailsOtherwise() {
        #expect(outcome(["If-Match": "\"abc\""]) == .whole)
        #expect(outcome(["If-Match": "W/\"abc\""]) == .failed)
        #expect(outcome(["If-Match": "\"x\""]) == .failed)
        #expect(outcome(["If-Unmodified-Since": before]) == .failed)
        #expect(outcome(["If-Unmodified-Since": date]) == .whole)
    }

    @Test func aRangeHoldsForTheSameBytesOnly() {
        let part = Preconditions.Outcome.part(offset: 0, length: 10)
        #expect(outcome(["Range": "bytes=0-9"]) == part)
        #expect(outcome(["Range": "bytes=0-9", "If-Range": "\"abc\""]) == part)
        #expect(outcome(["Range": "bytes=0-9", "If-Range": date]) == part)
        #expect(outcome(["Range": "bytes=0-9", "If-Range": "\"x\""]) == .whole)
        #expect(outcome(["Range": "bytes=0-9", "If-Range": "W/\"abc\""]) == .whole)
        #expect(outcome(["Range": "bytes=0-9", "If-Range": before]) == .whole)
        #expect(outcome(["Range": "bytes=0-9"], .head) == .whole)
        #expect(outcome(["Range": "bytes=0-9", "If-None-Match": "\"abc\""]) == .notModified)
        #expect(outcome(["Range": "bytes=200-"]) == .unsatisfiable)
    }
}

@Suite struct FormatNegotiationTests {
    @Test func aModernFormatIsChosenOnlyWhereItIsNamed() {
        let negotiation = FormatNegotiation(encoders: [.jpeg, .png, .webp])
        #expect(negotiation.varies)
        #expect(negotiation.format(accept: "image/avif,image/webp,*/*;q=0.8", hasAlpha: false) == .webp)
        #expect(negotiation.format(accept: "*/*", hasAlpha: false) == .jpeg)
        #expect(negotiation.format(accept: "image/webp;q=0", hasAlpha: true) == .png)
        #expect(negotiation.format(accept: nil, hasAlpha: false) == .jpeg)
        #expect(!FormatNegotiation(encoders: [.jpeg, .png]).varies)
    }
}

@Suite struct ServedImageTests {
    private let now = Timestamp(milliseconds: 1_768_478_400_000)

    private func image(_ freshness: StoredFreshness, isPrivate: Bool = false) -> ServedImage {
        ServedImage(
            format: .svg, bytes: Array("<svg/>".utf8), modified: now.adding(seconds: -100), freshness: freshness,
            isPrivate: isPrivate)
    }

    @Test func whatIsLeftOfTheFreshnessIsPassedOn() {
        let context = ServedImage.Context(now: now, isShareable: true)
        let fresh = StoredFreshness(
            freshUntil: now.adding(seconds: 60), staleWhileRevalidateUntil: now.adding(seconds: 90), immutable: true)
        #expect(
            image(fresh).cacheControl(context) == "public, max-age=60, immutable, stale-while-revalidate=30")
        #expect(image(fresh, isPrivate: true).cacheControl(context).hasPrefix("private, "))
        let stale = StoredFreshness(freshUntil: now.adding(seconds: -5), mustRevalidate: true)
        #expect(image(stale).cacheControl(context) == "public, max-age=0, must-revalidate")
        let never = StoredFreshness(freshUntil: .distantFuture, noCache: true)
        #expect(image(never).cacheControl(context) == "public, no-cache")
        #expect(image(StoredFreshness(freshUntil: .distantFuture)).cacheControl(context) == "public, max-age=31536000")
    }

    @Test func nothingInAnImageMayRun() {
        let answer = image(StoredFreshness(freshUntil: now)).answer(
            to: Request(.get, "/"), ServedImage.Context(now: now, isShareable: true))
        #expect(answer.status == 200)
        #expect(answer.fields["Content-Type"] == "image/svg+xml")
        #expect(answer.fields["X-Content-Type-Options"] == "nosniff")
        #expect(answer.fields["Content-Security-Policy"] == "default-src 'none'; style-src 'unsafe-inline'; sandbox")
        #expect(answer.fields["Cross-Origin-Resource-Policy"] == "same-site")
    }

    @Test func aRangeIsCutOut() {
        let request = Request(.get, "/", fields: ["Range": "bytes=1-3"])
        let answer = image(StoredFreshness(freshUntil: now)).answer(
            to: request, ServedImage.Context(now: now, isShareable: true))
        #expect(answer.status == 206)
        #expect(answer.fields["Content-Range"] == "bytes 1-3/6")
        guard case .bytes(let bytes) = answer.body else { return #expect(Bool(false)) }
        #expect(bytes == Array("svg".utf8))
    }

    @Test func aProblemSaysWhatToDo() throws {
        let answer = Problem(ImageError.refused(.busy, .init(retryAfter: 2))).answer
        #expect(answer.status == 503)
        #expect(answer.fields["Retry-After"] == "2")
        #expect(answer.fields["Content-Type"] == "application/problem+json")
        guard case .bytes(let bytes) = answer.body else { return #expect(Bool(false)) }
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains("\"code\":\"refused\"") && text.contains("\"status\":503"))
    }
}
