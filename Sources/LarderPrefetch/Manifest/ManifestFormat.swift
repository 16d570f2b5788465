import Foundation

/// How a list is written.
package enum ManifestFormat: String, Sendable, CaseIterable {
    /// A URL a line.
    case txt
    /// RFC 4180 with a header row.
    case csv
    /// As `csv`, with tabs.
    case tsv
    /// An array of strings or objects.
    case json
    /// A string or object a line.
    case jsonl

    /// By the name's extension, `.gz` left aside; nil where the name does not tell.
    package init?(name: String) {
        var name = name[...]
        if let end = name.firstIndex(where: { $0 == "?" || $0 == "#" }), name.contains("://") { name = name[..<end] }
        var parts = (name.split(separator: "/").last ?? "").split(separator: ".").dropFirst().map { $0.lowercased() }
        if parts.last == "gz" { parts.removeLast() }
        switch parts.last {
        case "txt", "urls", "list", "lst": self = .txt
        case "csv": self = .csv
        case "tsv", "tab": self = .tsv
        case "json": self = .json
        case "jsonl", "ndjson": self = .jsonl
        default: return nil
        }
    }

    /// By a Content-Type; nil where it does not tell.
    package init?(contentType: String) {
        let type = contentType.prefix { $0 != ";" }.lowercased().filter { $0 != " " }
        switch type {
        case "application/json", "text/json": self = .json
        case "application/x-ndjson", "application/jsonl", "application/x-jsonlines": self = .jsonl
        case "text/csv": self = .csv
        case "text/tab-separated-values": self = .tsv
        case "text/plain": self = .txt
        default:
            guard type.hasSuffix("+json") else { return nil }
            self = .json
        }
    }

    /// By the first bytes: an array, an object, a header row that names the column with the URL, or else a list of URLs,
    /// which never begins with one of these.
    package init(sniffing bytes: some Sequence<UInt8>, urlColumn: String = "url") {
        switch bytes.first(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }) {
        case UInt8(ascii: "["): self = .json
        case UInt8(ascii: "{"): self = .jsonl
        default:
            let line = bytes.prefix(4096).prefix { $0 != 0x0A && $0 != 0x0D }
            let table = [(Self.csv, UInt8(ascii: ",")), (.tsv, 0x09)].first { _, delimiter in
                line.split(separator: delimiter).contains { field in
                    let name = String(decoding: field, as: UTF8.self).trimmingCharacters(in: ["\"", " "])
                    return name.caseInsensitiveCompare(urlColumn) == .orderedSame
                }
            }
            self = table?.0 ?? .txt
        }
    }
}
