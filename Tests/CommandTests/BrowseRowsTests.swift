import Testing

@testable import LarderCommand

@Suite struct BrowseRowsTests {
    private static func rows(_ titles: [String]) -> [BrowseRow] {
        titles.enumerated().map { number, title in
            BrowseRow(title: title, address: title, origin: .manifest(number: number + 1, id: nil))
        }
    }

    private static func titles(_ rows: BrowseRows) -> [String] { (0..<rows.count).map { rows[$0].title } }

    @Test func aSearchLeavesWhatHasTheTextWhateverItsCase() {
        var rows = BrowseRows()
        rows.append(Self.rows(["http://a/Cat.jpg", "http://a/dog.jpg", "http://b/CATALOGUE.png", "고양이"]))
        for (query, left) in [
            ("", [0, 1, 2, 3]), ("cat", [0, 2]), ("CAT.", [0]), ("g", [0, 1, 2]), ("양", [3]), ("jpghttp", []),
            ("http://b/catalogue.png", [2]), ("http://b/catalogue.png ", []),
        ] {
            rows.find(query)
            #expect(rows.found == left, "\(query)")
        }
    }

    @Test func typingAndTakingBackIsTheSameAsSearchingAnew() {
        let titles = (0..<2_000).map { "http://img.example/\($0 * 7919 % 2_003).jpg" }
        var typed = BrowseRows()
        typed.append(Self.rows(titles))
        for query in ["1", "12", "123", "12", "129", "", "9.j"] {
            typed.find(query)
            #expect(Self.titles(typed) == titles.filter { $0.contains(query) || query.isEmpty })
        }
    }

    @Test func rowsThatComeDuringASearchAreSearchedToo() {
        var rows = BrowseRows()
        rows.append(Self.rows(["cat", "dog"]))
        rows.find("c")
        rows.append(Self.rows(["cow", "hen"]))
        #expect(Self.titles(rows) == ["cat", "cow"])
        rows.find("")
        #expect(rows.count == 4)
    }

    @Test func whatIsNoAddressSaysSo() {
        let rows = Self.rows(["http://a/b.jpg", "a b"])
        #expect(rows[0].problem == nil && rows[0].url != nil)
        let flawed = BrowseRow(title: "x", address: "", flaw: "no url", origin: .manifest(number: 1, id: "7"))
        #expect(flawed.problem == "no url" && flawed.url == nil)
        #expect(flawed.facts.map(\.name) == ["row", "id"])
    }
}
