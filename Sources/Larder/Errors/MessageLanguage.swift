import Foundation

/// The languages in which Larder speaks to people.
public enum MessageLanguage: String, Sendable, Hashable, CaseIterable {
    case english = "en"
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

    /// The language of this process's environment, read once.
    public static let current = MessageLanguage(environment: ProcessInfo.processInfo.environment)
}
