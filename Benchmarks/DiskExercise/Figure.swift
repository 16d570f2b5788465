import Foundation

/// One figure against its target.
struct Figure {
    let name: String
    let value: Double
    /// The least and the greatest of all rounds.
    var range: ClosedRange<Double>?
    let unit: String
    /// nil where the figure is only told.
    let target: Double?
    var note = ""
    var digits = 2

    init(_ name: String, _ rounds: [Double], _ unit: String, target: Double?, note: String = "", digits: Int = 2) {
        let sorted = rounds.sorted()
        self.name = name
        value = sorted[sorted.count / 2]
        range = sorted.count > 1 ? sorted[0]...sorted[sorted.count - 1] : nil
        self.unit = unit
        self.target = target
        self.note = note
        self.digits = digits
    }

    var isMet: Bool { target.map { value <= $0 } ?? true }

    /// A row of a table in Markdown.
    var row: String {
        func text(_ number: Double) -> String { String(format: "%.\(digits)f", number) }
        let range = range.map { " (\(text($0.lowerBound)) to \(text($0.upperBound)))" } ?? ""
        let aim = target.map { "at most \(String(format: "%g", $0))\(unit) | \(isMet ? "met" : "MISSED")" } ?? "|"
        return "| \(name) | \(text(value))\(unit)\(range) | \(aim) | \(note) |"
    }
}
