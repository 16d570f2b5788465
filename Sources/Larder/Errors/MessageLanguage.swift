import Foundation

/// The languages in which Larder speaks to people.
public enum MessageLanguage: String, Sendable, Hashable, CaseIterable {
    /// The default.
    case english = "en"
    /// Where the environment asks for `ko`.
    case korean = "ko"

    /// The language that the environment asks for: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is not
    /// empty decides; English where it names none that is spoken here.
    ///
    /// Read from the environment, because `Locale.current` on Linux does not follow it (`ko_KR` gives `en_001`).
    public init(environment: [String: String]) {
        let name =
            ["LC_ALL", "LC_MESSAGES", "LANG"].lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        let language = name.prefix { $0 != "_" && $0 != "." && $0 != "@" }.lowercased()
        self = MessageLanguage(rawValue: language) ?? .english
    }

    /// What an English message of an ``ImageError`` says in this language: for messages that come out of reports, which
    /// are always English. Any other text stays as it is.
    package func translating(_ english: String) -> String {
        guard self != .english else { return english }
        var errors: [ImageError] =
            [
                .invalidURL(.init()), .unreachable(.init()), .timedOut(.total, .init()), .truncated(.init()),
                .notAnImage(.init()), .unsupportedFormat(.init()), .corrupt(.init()), .tooLarge(.init()),
                .hashMismatch(.init()), .cacheUnavailable(.init()), .notCached(.init()), .cancelled(.init()),
            ] + ImageError.Refusal.allCases.map { .refused($0, .init()) }
        if let range = english.range(of: "(status "), let status = Int(english[range.upperBound...].prefix(3)) {
            errors = [.httpStatus(status, .init())]
        }
        return errors.first { $0.message(in: .english) == english }?.message(in: self) ?? english
    }

    /// The language of this process's environment, read once.
    public static let current = MessageLanguage(environment: ProcessInfo.processInfo.environment)
}
