/// All rows, and those of them that a search leaves.
struct BrowseRows {
    private(set) var all: [BrowseRow] = []
    /// The rows that the query leaves, as indices of `all`.
    private(set) var found: [Int] = []
    private(set) var query = ""
    /// All titles in lower case, in one piece, since a search looks through them with each key.
    private var text: [UInt8] = []
    private var ends: [Int] = []
    private var wanted: [UInt8] = []

    var count: Int { found.count }
    subscript(place: Int) -> BrowseRow { all[found[place]] }

    mutating func append(_ rows: [BrowseRow]) {
        let first = all.count
        all += rows
        for row in rows {
            text += row.title.lowercased().utf8
            ends.append(text.count)
        }
        found += matching(first..<all.count)
    }

    /// Leaves the rows whose title has this text.
    mutating func find(_ query: String) {
        let isNarrower = query.hasPrefix(self.query)
        self.query = query
        wanted = Array(query.lowercased().utf8)
        found = isNarrower ? matching(found) : matching(all.indices)
    }

    private func matching(_ rows: some Sequence<Int>) -> [Int] {
        guard let first = wanted.first else { return Array(rows) }
        return text.withUnsafeBufferPointer { text in
            rows.filter { row in
                let last = ends[row] - wanted.count
                var at = row == 0 ? 0 : ends[row - 1]
                while at <= last {
                    if text[at] == first, text[at..<at + wanted.count].elementsEqual(wanted) { return true }
                    at += 1
                }
                return false
            }
        }
    }
}
