import Foundation
import TestSupport
import Testing

/// The table that people read is the one that is tested.
@Suite struct HostileWebDocumentTests {
    /// With `LARDER_WRITE_DOCUMENTS` set it writes the table instead.
    @Test func hasEveryCase() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Documentation/hostile-web.md").standardized
        let text = try String(contentsOf: page, encoding: .utf8)
        let (start, end) = ("<!-- cases -->\n", "<!-- end of cases -->\n")
        let before = try #require(text.range(of: start))
        let after = try #require(text.range(of: end))
        if ProcessInfo.processInfo.environment["LARDER_WRITE_DOCUMENTS"] != nil {
            let written = text[..<before.upperBound] + HostileCase.markdown + text[after.lowerBound...]
            try written.write(to: page, atomically: true, encoding: .utf8)
        } else {
            #expect(text[before.upperBound..<after.lowerBound] == HostileCase.markdown)
        }
    }
}
