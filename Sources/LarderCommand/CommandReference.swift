/// Documentation/command-line.md and the man page, written from the same tables as `--help`.
enum CommandReference {
    /// The page of the project; a test holds the committed file equal to it.
    static func markdown() -> String {
        var text = """
            # The command line

            Written by `larder documentation`, from the tables that `--help` and the completions are made from.

            Data comes on standard output, everything else on standard error. What is given on the command line goes
            before the environment, and that before the default: every option has a variable, such as
            `LARDER_MAX_TIME` for `--max-time`. `NO_COLOR` is honoured. Sizes in bytes take K, M, G and T (powers of
            1024), counts take K, M and G (powers of 1000), times take s, m, h, d and w.

            Exit status:

            | status | meaning |
            | --- | --- |

            """
        for status in ExitStatus.allCases { text += "| \(status.rawValue) | \(status.meaning) |\n" }
        for command in Program.commands where !command.isHidden { text += section(command) }
        text += "\n## Options of every command\n\n" + table(CommonOptions.all)
        return text
    }

    private static func section(_ command: Command) -> String {
        var text =
            "\n## larder \(command.name)\n\n\(command.summary.prefix(1).uppercased())\(command.summary.dropFirst()).\n"
        text +=
            "\n    larder \(command.name) [OPTION]..." + (command.operands.isEmpty ? "" : " " + command.operands) + "\n"
        for paragraph in command.details { text += "\n\(paragraph)\n" }
        if !command.examples.isEmpty {
            text += "\n"
            for example in command.examples { text += "    # \(example.comment)\n    \(example.line)\n" }
        }
        let own = command.options.filter { !$0.isHidden }
        if !own.isEmpty { text += "\n" + table(own) }
        return text
    }

    private static func table(_ options: [Option]) -> String {
        var text = "| option | meaning | default |\n| --- | --- | --- |\n"
        for option in options {
            let name = "`" + option.synopsis.trimmingPrefix { $0 == " " } + "`"
            let help = (option.help + (option.isRepeatable ? "; may be repeated" : "")).replacing("|", with: "\\|")
            text +=
                "| \(name.replacing("|", with: "\\|")) | \(help) | \(option.defaultValue.map { "`\($0)`" } ?? "") |\n"
        }
        return text
    }

    /// The man page in man(7) markup.
    static func manual(version: String) -> String {
        var text =
            ".TH LARDER 1 \"\" \"larder \(version)\" \"User Commands\"\n.SH NAME\nlarder \\- \(escape(Program.summary))\n"
        text += ".SH SYNOPSIS\n"
        let commands = Program.commands.filter { !$0.isHidden }
        for command in commands {
            text += ".B larder \(command.name)\n[OPTION]... \(escape(command.operands))\n.br\n"
        }
        text += ".SH COMMANDS\n"
        for command in commands {
            text += ".SS larder \(command.name)\n\(escape(command.summary)).\n"
            for paragraph in command.details { text += ".PP\n\(escape(paragraph))\n" }
            for option in command.options where !option.isHidden { text += item(option) }
        }
        text += ".SH OPTIONS OF EVERY COMMAND\n"
        for option in CommonOptions.all { text += item(option) }
        text += ".SH EXAMPLES\n"
        for example in commands.flatMap(\.examples) {
            text += ".PP\n\(escape(example.comment)):\n.PP\n.RS 4\n.nf\n\(escape(example.line))\n.fi\n.RE\n"
        }
        text += ".SH EXIT STATUS\n"
        for status in ExitStatus.allCases { text += ".TP\n.B \(status.rawValue)\n\(escape(status.meaning))\n" }
        text += ".SH ENVIRONMENT\nEvery option has a variable that stands in where it is not given, such as\n"
        text += ".B LARDER_CACHE\nfor\n.BR \\-\\-cache .\n.B NO_COLOR\nturns colours off.\n"
        return text
    }

    private static func item(_ option: Option) -> String {
        let synopsis = escape(String(option.synopsis.trimmingPrefix { $0 == " " }))
        return ".TP\n.B \(synopsis)\n\(escape(option.help + HelpText.suffix(option)))\n"
    }

    /// Backslashes and dashes are markup in roff, and so is a full stop or a quote that begins a line.
    private static func escape(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("`", with: "")
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }
}
