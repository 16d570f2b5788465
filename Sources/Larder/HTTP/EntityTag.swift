/// An entity tag (RFC 9110 §8.8.3): the opaque text with its quotes, and whether it is weak.
package struct EntityTag: Sendable, Hashable {
    /// As received, quotes included; what comes without quotes is kept without.
    package let opaque: String
    package let isWeak: Bool

    /// Nil for an empty value.
    package init?(_ value: String) {
        let isWeak = value.hasPrefix("W/")
        let opaque = isWeak ? String(value.dropFirst(2)) : value
        guard !opaque.isEmpty else { return nil }
        self.isWeak = isWeak
        self.opaque = opaque
    }

    /// As sent in a field.
    package var text: String { isWeak ? "W/" + opaque : opaque }

    /// Same text, weak or not (§8.8.3.2): enough for a GET that asks whether it changed.
    package func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

    /// Same text and neither weak: needed for ranges.
    package func matchesStrongly(_ other: EntityTag) -> Bool { !isWeak && !other.isWeak && opaque == other.opaque }

    /// The members of `If-None-Match`; `*` is not among them.
    package static func list(_ values: [String]) -> [EntityTag] {
        values.flatMap { value in
            var tags: [EntityTag] = []
            var rest = Substring(value)
            while true {
                rest = rest.drop { $0 == " " || $0 == "\t" || $0 == "," }
                guard !rest.isEmpty else { return tags }
                let body = rest.hasPrefix("W/\"") ? rest.dropFirst(3) : rest.hasPrefix("\"") ? rest.dropFirst() : nil
                // A tag's text knows no escapes: it ends at the next quote.
                if let body, let quote = body.firstIndex(of: "\"") {
                    if let tag = EntityTag(String(rest[...quote])) { tags.append(tag) }
                    rest = rest[body.index(after: quote)...]
                } else {
                    let end = rest.firstIndex(of: ",") ?? rest.endIndex
                    let bare = rest[..<end].reversed().drop { $0 == " " || $0 == "\t" }.reversed()
                    if let tag = EntityTag(String(bare)), tag.opaque != "*" { tags.append(tag) }
                    rest = rest[end...]
                }
            }
        }
    }
}
