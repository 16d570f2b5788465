import Foundation
import Larder

/// JSON as every answer writes it: snake case by coding keys, slashes as they are, stable order.
package enum JSONAnswer {
    package static func encode(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        // Strings, numbers and arrays of these cannot fail.
        return (try? encoder.encode(value)).map(Array.init) ?? Array("{}".utf8)
    }

    package static func answer(_ value: some Encodable, status: Int = 200) -> Answer {
        Answer(
            status,
            fields: [
                "Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
                "Cross-Origin-Resource-Policy": "same-origin",
            ], body: .bytes(encode(value)))
    }
}
