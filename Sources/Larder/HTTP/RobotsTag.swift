/// `X-Robots-Tag`: what a response says to robots about itself.
package enum RobotsTag {
    /// What keeps an image from being collected.
    private static let forbidding: Set<String> = ["noai", "noimageai", "noindex", "noimageindex", "none"]
    /// Directives that take a value behind a colon; before any other colon stands a robot's name.
    private static let valued: Set<String> = [
        "unavailable_after", "max-snippet", "max-image-preview", "max-video-preview",
    ]

    /// The directive that forbids it, or nil. Directives behind another robot's name do not count.
    ///
    /// - Parameter agent: our name in lower case, such as `larder`.
    package static func forbids(_ fields: HTTPFields, agent: String) -> String? {
        for value in fields.values("x-robots-tag") {
            var isOurs = true
            for member in value.split(separator: ",") {
                var text = member.lowercased().trimmed
                if let colon = text.firstIndex(of: ":") {
                    let name = String(text[..<colon]).trimmed
                    // A name has no space: this is a part of a date.
                    if valued.contains(name) || name.contains(" ") { continue }
                    isOurs = name == agent || name == "*"
                    text = String(text[text.index(after: colon)...]).trimmed
                }
                if isOurs, forbidding.contains(text) { return text }
            }
        }
        return nil
    }
}

extension String {
    /// Without spaces and tabs at both ends.
    var trimmed: String {
        String(drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
