import Foundation
import Testing

/// Every test that the table of requirements names is there.
@Suite struct HTTPCacheDocumentTests {
    @Test func theTestsThatTheTableNamesExist() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "Documentation/http-cache.md"), encoding: .utf8)
        let start = try #require(page.range(of: "## Requirement by requirement"))
        let end = try #require(page.range(of: "## Testing it as a cache"))
        var suites: [String: String?] = [:]
        var named = 0
        for line in page[start.upperBound..<end.lowerBound].split(separator: "\n") where line.hasPrefix("| ") {
            guard let cell = line.split(separator: "|").last else { continue }
            // A name without a suite belongs to the one before it.
            var suite = ""
            for word in cell.split(separator: "`") {
                let parts = word.split(separator: "/").map(String.init)
                let name: String
                if parts.first?.wholeMatch(of: /[A-Z]\w+Tests/) != nil {
                    suite = parts[0]
                    let source = suites[suite] ?? Self.source(of: suite, below: root.appending(path: "Tests"))
                    suites[suite] = source
                    #expect(source != nil, "there is no suite \(suite): \(line)")
                    guard parts.count == 2 else { continue }
                    name = parts[1]
                } else if word.wholeMatch(of: /[a-z0-9]+[A-Z]\w{6,}/) != nil {
                    name = String(word)
                } else {
                    continue
                }
                named += 1
                let source = (suites[suite] ?? nil) ?? ""
                #expect(source.contains("func \(name)("), "there is no test \(suite)/\(name)")
            }
        }
        #expect(named > 60)
    }

    private static func source(of suite: String, below tests: URL) -> String? {
        for room in (try? FileManager.default.contentsOfDirectory(atPath: tests.path)) ?? [] {
            let file = tests.appending(path: room).appending(path: suite + ".swift")
            if let text = try? String(contentsOf: file, encoding: .utf8) { return text }
        }
        return nil
    }
}
