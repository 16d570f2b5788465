import Larder

/// What stands on the terminal: a pure picture of the list's state, so that it can be tested without a terminal.
struct BrowseScreen {
    /// Character cells.
    var columns = 80
    var rows = 24
    /// Pixels of one cell.
    var cell = (width: 8, height: 16)
    var graphics = TerminalGraphics.blocks
    /// Makes text of others harmless, so that it moves no cursor.
    var harmless: (String) -> String

    /// Cell rows of one list row.
    static let rowHeight = 4
    private static let pictureColumns = 10

    /// How many list rows fit above the status line.
    var capacity: Int { max(1, (rows - 1) / Self.rowHeight) }

    /// Pixels that a row's picture may have.
    var pictureSize: (width: Int, height: Int) {
        switch graphics {
        case .blocks: (Self.pictureColumns, Self.rowHeight * 2)
        case .kitty, .sixel: (Self.pictureColumns * cell.width, (Self.rowHeight - 1) * cell.height)
        }
    }

    struct Item {
        var row: BrowseRow
        var phase: ImagePhase
        var progress: Double?
        var picture: [String]
        var isSelected: Bool
    }

    /// The text of a picture, made once for each.
    func picture(_ bitmap: Bitmap) -> [String] {
        let height = graphics == .blocks ? Self.rowHeight : Self.rowHeight - 1
        return graphics.draw(bitmap, columns: Self.pictureColumns, rows: height, cell: cell)
    }

    /// The whole screen, from its top left.
    func list(_ items: [Item], status: String) -> String {
        var text = graphics == .kitty ? "\u{1B}_Ga=d,q=2\u{1B}\\" : ""
        for index in 0..<capacity {
            let top = index * Self.rowHeight + 1
            let item = index < items.count ? items[index] : nil
            let lines = item.map(lines) ?? []
            for line in 0..<Self.rowHeight {
                text += "\u{1B}[\(top + line);1H\u{1B}[0m\u{1B}[2K"
                if let item {
                    if graphics == .blocks, line < item.picture.count { text += item.picture[line] }
                    text += "\u{1B}[\(top + line);\(Self.pictureColumns + 3)H"
                }
                if line < lines.count { text += lines[line] }
            }
            if graphics != .blocks, let picture = item?.picture.first { text += "\u{1B}[\(top);1H" + picture }
        }
        for line in (capacity * Self.rowHeight + 1)..<max(capacity * Self.rowHeight + 1, rows) {
            text += "\u{1B}[\(line);1H\u{1B}[2K"
        }
        return text + statusLine(status)
    }

    /// A page of names and values.
    func details(_ facts: [(name: String, value: String)], status: String) -> String {
        var text = graphics == .kitty ? "\u{1B}_Ga=d,q=2\u{1B}\\" : ""
        let width = facts.map(\.name.count).max() ?? 0
        for line in 1..<max(2, rows) {
            text += "\u{1B}[\(line);1H\u{1B}[0m\u{1B}[2K"
            guard line - 2 >= 0, line - 2 < facts.count else { continue }
            let fact = facts[line - 2]
            let name = String(repeating: " ", count: width - fact.name.count) + fact.name
            text += "  \u{1B}[2m\(name)\u{1B}[0m  " + cut(fact.value, columns - width - 6)
        }
        return text + statusLine(status)
    }

    private func statusLine(_ text: String) -> String {
        let cut = cut(text, columns)
        let padding = String(repeating: " ", count: max(0, columns - cut.count))
        return "\u{1B}[\(rows);1H\u{1B}[7m\(cut)\(padding)\u{1B}[0m"
    }

    private func lines(_ item: Item) -> [String] {
        let width = columns - Self.pictureColumns - 4
        let title = cut(item.row.title, width)
        return [
            item.isSelected ? "\u{1B}[7m\(title)\u{1B}[0m" : "\u{1B}[1m\(title)\u{1B}[0m",
            "\u{1B}[2m\(cut(facts(item), width))\u{1B}[0m",
            phase(item, width),
        ]
    }

    private func facts(_ item: Item) -> String {
        guard let image = item.phase.image else { return "" }
        let header = image.header
        return "\(header.format.rawValue)  \(header.displayWidth)x\(header.displayHeight)"
            + (header.orientation == .up ? "" : "  orientation \(header.orientation.rawValue)")
    }

    private func phase(_ item: Item, _ width: Int) -> String {
        if let problem = item.row.problem { return "\u{1B}[31m\(cut("failure: \(problem)", width))\u{1B}[0m" }
        switch item.phase {
        case .empty:
            guard let progress = item.progress else { return "\u{1B}[2mempty\u{1B}[0m" }
            return "\u{1B}[2mempty \(Int(progress * 100)) %\u{1B}[0m"
        case .success(let image):
            return
                "\u{1B}[32msuccess\u{1B}[0m \u{1B}[2m\(image.source.rawValue)\(image.isStale ? ", stale" : "")\u{1B}[0m"
        case .failure(let error):
            return "\u{1B}[31m\(cut("failure: \(error.message())", width))\u{1B}[0m"
        }
    }

    /// As much of a text as fits.
    private func cut(_ text: String, _ width: Int) -> String {
        let plain = harmless(text)
        guard plain.count > width else { return plain }
        return width > 1 ? plain.prefix(width - 1) + "…" : ""
    }
}
