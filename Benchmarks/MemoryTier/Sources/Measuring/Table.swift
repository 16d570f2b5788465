/// Rows of text, printed as a Markdown table with aligned columns.
public struct Table {
    private var rows: [[String]] = []

    public init(_ head: [String]) { rows = [head] }

    public mutating func add(_ cells: [String]) { rows.append(cells) }

    public var text: String {
        let widths = (rows.first ?? []).indices.map { column in
            rows.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        var lines = rows.map { row in
            "| "
                + zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: " | ")
                + " |"
        }
        lines.insert("|" + widths.map { String(repeating: "-", count: $0 + 2) }.joined(separator: "|") + "|", at: 1)
        return lines.joined(separator: "\n")
    }
}
