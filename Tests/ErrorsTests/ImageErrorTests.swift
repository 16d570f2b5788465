import Foundation
import Testing

@testable import Larder

/// One value of every case that a message or code may depend on.
let everyError: [ImageError] =
    [
        .invalidURL(.init()), .unreachable(.init()), .truncated(.init()), .notAnImage(.init()),
        .unsupportedFormat(.init()), .corrupt(.init()), .tooLarge(.init()), .hashMismatch(.init()),
        .cacheUnavailable(.init()), .notCached(.init()), .cancelled(.init()),
    ]
    + ImageError.Refusal.allCases.map { .refused($0, .init()) }
    + ImageError.Deadline.allCases.map { .timedOut($0, .init()) }
    + [301, 401, 403, 404, 407, 408, 410, 418, 429, 500, 503].map { .httpStatus($0, .init()) }

@Suite struct ImageErrorTests {
    @Test(arguments: everyError) func hasAMessageInEveryLanguage(error: ImageError) {
        let english = error.message(in: .english)
        let korean = error.message(in: .korean)
        #expect(english.hasSuffix("."))
        #expect(english.utf8.count == english.unicodeScalars.count, "English is plain ASCII")
        #expect(korean.hasSuffix("."))
        let syllables = korean.unicodeScalars.filter { (0xAC00...0xD7A3).contains($0.value) }
        #expect(!syllables.isEmpty)
        #expect(error.errorDescription == error.message())
    }

    /// Reports are English; who shows one to people shows it in their language.
    @Test(arguments: everyError) func aMessageOfAReportIsTranslated(error: ImageError) {
        #expect(MessageLanguage.korean.translating(error.message(in: .english)) == error.message(in: .korean))
        #expect(MessageLanguage.english.translating(error.message(in: .english)) == error.message(in: .english))
        #expect(MessageLanguage.korean.translating("Something else.") == "Something else.")
    }

    @Test func codesAreStable() {
        #expect(
            Set(everyError.map(\.code)) == [
                "invalid_url", "refused", "filtered", "unreachable", "timed_out", "http_status", "truncated",
                "not_an_image", "unsupported_format", "corrupt", "too_large", "hash_mismatch", "cache_unavailable",
                "not_cached", "cancelled",
            ])
    }

    @Test func whatCanHelpIsRetryable() {
        for status in [408, 429, 500, 502, 503, 504] { #expect(ImageError.httpStatus(status, .init()).isRetryable) }
        for status in [301, 400, 401, 403, 404, 410, 501, 505] {
            #expect(!ImageError.httpStatus(status, .init()).isRetryable)
        }
        #expect(ImageError.unreachable(.init()).isRetryable)
        #expect(ImageError.timedOut(.idle, .init()).isRetryable)
        #expect(!ImageError.corrupt(.init()).isRetryable)
        #expect(!ImageError.unreachable(.init(isTransient: false)).isRetryable)
    }

    @Test func userInfoNeverShows() throws {
        let url = try #require(URL(string: "https://me:secret@example.org/a.png?x=1"))
        let error = ImageError.unreachable(.init("reset")).at(url)
        #expect(error.url == "https://example.org/a.png?x=1")
        #expect(error.description == "unreachable https://example.org/a.png?x=1: reset")
    }

    @Test(arguments: [
        (["LANG": "ko_KR.UTF-8"], MessageLanguage.korean),
        (["LANG": "ko_KR.UTF-8", "LC_MESSAGES": "en_US.UTF-8"], .english),
        (["LANG": "en_US.UTF-8", "LC_ALL": "ko"], .korean),
        (["LANG": "ko_KR", "LC_ALL": ""], .korean),
        (["LANG": "kok_IN"], .english),
        (["LANG": "de_DE.UTF-8"], .english),
        ([:], .english),
    ]) func theEnvironmentChoosesTheLanguage(environment: [String: String], language: MessageLanguage) {
        #expect(MessageLanguage(environment: environment) == language)
    }
}
