import Foundation

/// The JSON part of an entry's metadata: what a hit does not need. An object with the members `final_url`
/// (absent where it is the key's URL), `fields`, `vary` (arrays of `[name, value]`) and `extra` (an object of
/// strings). Members that we do not know survive a rewrite.
struct MetadataJSON {
    var finalURL: String?
    var fields = HTTPFields()
    var varyFields = HTTPFields()
    var extra: [String: String] = [:]
    /// The unknown members as JSON text, without braces, such as `"a":1,"b":[2]`; empty where there are none.
    var unknown: [UInt8] = []

    private static let known: Set<String> = ["final_url", "fields", "vary", "extra"]

    init(_ bytes: ArraySlice<UInt8>) throws(ImageError) {
        guard !bytes.isEmpty else { return }
        guard let object = (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any] else {
            throw .corrupt(.init("the JSON part of a cache entry cannot be read"))
        }
        finalURL = object["final_url"] as? String
        fields = Self.pairs(object["fields"])
        varyFields = Self.pairs(object["vary"])
        extra = object["extra"] as? [String: String] ?? [:]
        let others = object.filter { !Self.known.contains($0.key) }
        if !others.isEmpty, let text = try? JSONSerialization.data(withJSONObject: others, options: .sortedKeys) {
            unknown = Array(text.dropFirst().dropLast())
        }
    }

    private static func pairs(_ value: Any?) -> HTTPFields {
        HTTPFields(
            (value as? [[String]] ?? []).compactMap { $0.count == 2 ? HTTPFields.Field($0[0], $0[1]) : nil })
    }

    /// Written by hand: a commit writes it each time, and JSONSerialization costs more than the file.
    static func encode(_ metadata: EntryMetadata, unknown: [UInt8]) -> [UInt8] {
        var out: [UInt8] = [UInt8(ascii: "{")]
        if !metadata.finalURL.hasSameBytes(as: metadata.key.url) {
            out.append(contentsOf: #""final_url":"#.utf8)
            string(metadata.finalURL, into: &out)
            out.append(UInt8(ascii: ","))
        }
        out.append(contentsOf: #""fields":"#.utf8)
        pairs(metadata.fields, into: &out)
        if !metadata.varyFields.fields.isEmpty {
            out.append(contentsOf: #","vary":"#.utf8)
            pairs(metadata.varyFields, into: &out)
        }
        if !metadata.extra.isEmpty {
            out.append(contentsOf: #","extra":{"#.utf8)
            for (index, item) in metadata.extra.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { out.append(UInt8(ascii: ",")) }
                string(item.key, into: &out)
                out.append(UInt8(ascii: ":"))
                string(item.value, into: &out)
            }
            out.append(UInt8(ascii: "}"))
        }
        if !unknown.isEmpty {
            out.append(UInt8(ascii: ","))
            out.append(contentsOf: unknown)
        }
        out.append(UInt8(ascii: "}"))
        return out
    }

    private static func pairs(_ fields: HTTPFields, into out: inout [UInt8]) {
        out.append(UInt8(ascii: "["))
        for (index, field) in fields.fields.enumerated() {
            if index > 0 { out.append(UInt8(ascii: ",")) }
            out.append(UInt8(ascii: "["))
            string(field.name, into: &out)
            out.append(UInt8(ascii: ","))
            string(field.value, into: &out)
            out.append(UInt8(ascii: "]"))
        }
        out.append(UInt8(ascii: "]"))
    }

    private static let digits = Array("0123456789abcdef".utf8)

    private static func string(_ text: String, into out: inout [UInt8]) {
        out.append(UInt8(ascii: "\""))
        defer { out.append(UInt8(ascii: "\"")) }
        // Nearly every text goes as it is.
        guard
            text.utf8.contains(where: {
                $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\")
            })
        else { return out.append(contentsOf: text.utf8) }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                out.append(UInt8(ascii: "\\"))
                out.append(byte)
            case 0..<0x20, 0x7F:
                out.append(contentsOf: [UInt8(ascii: "\\"), UInt8(ascii: "u"), 48, 48])
                out.append(digits[Int(byte >> 4)])
                out.append(digits[Int(byte & 15)])
            default:
                out.append(byte)
            }
        }
    }
}

extension String {
    /// Byte by byte: `==` takes canonically equivalent texts for one.
    fileprivate func hasSameBytes(as other: String) -> Bool {
        var (left, right) = (self, other)
        return left.withUTF8 { left in
            right.withUTF8 { right in
                guard left.count == right.count else { return false }
                guard let first = left.baseAddress, let second = right.baseAddress else { return true }
                return memcmp(first, second, left.count) == 0
            }
        }
    }
}
