/// `Link` header fields (RFC 8288), as far as paging needs them.
enum LinkHeader {
    /// The target of the first link whose relation is `relation`, as written.
    static func target(_ relation: String, in values: [String]) -> String? {
        for value in values {
            var rest = value[...]
            while let open = rest.firstIndex(of: "<"), let close = rest[open...].firstIndex(of: ">") {
                let target = rest[rest.index(after: open)..<close]
                rest = rest[rest.index(after: close)...]
                let parameters = takeParameters(&rest)
                let relations = parameters.first { $0.name == "rel" }?.value ?? ""
                if relations.split(separator: " ").contains(where: { $0.lowercased() == relation }) {
                    return String(target)
                }
            }
        }
        return nil
    }

    /// The parameters up to the next comma outside quotes.
    private static func takeParameters(_ rest: inout Substring) -> [(name: String, value: String)] {
        var parameters: [(String, String)] = []
        var text = ""
        var inQuotes = false
        func end() {
            let parts = text.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != "\t" } }
            if let name = parts.first {
                let value = parts.count > 1 ? parts[1].drop { $0 == " " } : ""
                parameters.append((name.filter { $0 != " " }.lowercased(), value.filter { $0 != "\"" }))
            }
            text = ""
        }
        while let letter = rest.popFirst() {
            if letter == "\"" { inQuotes.toggle() }
            if !inQuotes, letter == "," { break }
            if !inQuotes, letter == ";" { end() } else { text.append(letter) }
        }
        end()
        return parameters.map { (name: $0.0, value: $0.1) }
    }
}
