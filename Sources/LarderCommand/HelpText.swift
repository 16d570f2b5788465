/// `--help`, made from the tables: examples first, the common options on one screen of 80 by 24, all on demand.
enum HelpText {
    static func overview(all: Bool = false) -> String {
        let shown = Program.commands.filter { all || !$0.isHidden }
        let width = shown.map(\.name.count).max() ?? 0
        var lines = ["larder \(Program.summary).", ""]
        lines += ["  larder prefetch urls.txt                 download every image of a list"]
        lines += ["  larder get https://example.com/a.jpg     one image through the cache"]
        lines += ["  larder inspect photo.jpg                 what an image is, and whether it is whole"]
        lines += ["", "Commands"]
        lines += shown.map { "  " + pad($0.name, width + 2) + $0.summary }
        lines += ["", "larder COMMAND --help shows examples and options of one."]
        return lines.joined(separator: "\n")
    }

    static func help(_ command: Command, all: Bool) -> String {
        var lines = ["larder \(command.name): \(command.summary)", ""]
        lines += command.examples.map { "  \($0.line)" }
        if !command.examples.isEmpty { lines.append("") }
        lines.append(
            "Usage: larder \(command.name) [OPTION]..." + (command.operands.isEmpty ? "" : " " + command.operands))
        lines.append("")
        let visible = command.allOptions.filter { !$0.isHidden }
        // A command with few options shows them all at once.
        let isShort = !all && visible.count > 14
        let shown = isShort ? visible.filter(\.isCommon) : visible
        let width = shown.map(\.synopsis.count).max() ?? 0
        for option in shown {
            lines += wrap(option.help + suffix(option), first: "  " + pad(option.synopsis, width + 2), width: 80)
        }
        if isShort { lines += ["", "larder \(command.name) --help all shows every option."] }
        return lines.joined(separator: "\n")
    }

    /// ` (default 16)`, and whether it may be given more than once.
    static func suffix(_ option: Option) -> String {
        (option.isRepeatable ? "; may be repeated" : "") + (option.defaultValue.map { " (\($0))" } ?? "")
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func wrap(_ text: String, first: String, width: Int) -> [String] {
        let indent = String(repeating: " ", count: first.count)
        var lines: [String] = []
        var line = first
        var isEmpty = true
        for word in text.split(separator: " ") {
            if !isEmpty, line.count + 1 + word.count > width {
                lines.append(line)
                line = indent
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        return lines + [line]
    }
}
