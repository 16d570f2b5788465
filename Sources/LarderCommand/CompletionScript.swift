/// Completion scripts for the three usual shells, written from the tables.
enum CompletionScript: String, CaseIterable {
    case bash, zsh, fish

    private var commands: [Command] { Program.commands.filter { !$0.isHidden } }

    var text: String {
        switch self {
        case .bash: bash
        case .zsh: zsh
        case .fish: fish
        }
    }

    private func visible(_ command: Command) -> [Option] { command.allOptions.filter { !$0.isHidden } }

    private var bash: String {
        var text = "# bash completion for larder: source it, or put it where bash-completion looks.\n_larder() {\n"
        text += "    local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
        text += "    COMPREPLY=()\n    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
        text += "        COMPREPLY=($(compgen -W \"\(commands.map(\.name).joined(separator: " "))\" -- \"$current\"))\n"
        text += "        return\n    fi\n    case \"${COMP_WORDS[1]} $previous\" in\n"
        for command in commands {
            for option in visible(command) where option.value != nil {
                let names = (["--" + option.name] + (option.short.map { ["-\($0)"] } ?? []))
                let pattern = names.map { "\"\(command.name) \($0)\"" }.joined(separator: "|")
                text += "        \(pattern)) \(reply(option)) return ;;\n"
            }
        }
        text += "    esac\n    case \"$current\" in\n        -*)\n            case \"${COMP_WORDS[1]}\" in\n"
        for command in commands {
            let words = visible(command).flatMap { ["--" + $0.name] + ($0.short.map { ["-\($0)"] } ?? []) }
            text +=
                "                \(command.name)) COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$current\")) ;;\n"
        }
        text += "            esac ;;\n        *) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n    esac\n}\n"
        return text + "complete -o filenames -F _larder larder\n"
    }

    private func reply(_ option: Option) -> String {
        if !option.choices.isEmpty {
            return "COMPREPLY=($(compgen -W \"\(option.choices.joined(separator: " "))\" -- \"$current\"));"
        }
        return switch option.completion {
        case .directory: "COMPREPLY=($(compgen -d -- \"$current\"));"
        case .file: "COMPREPLY=($(compgen -f -- \"$current\"));"
        case .none: ""
        }
    }

    private var zsh: String {
        var text = "#compdef larder\n# zsh completion for larder: put it as _larder into a directory of $fpath.\n"
        text += "_larder() {\n    local -a commands\n    commands=(\n"
        for command in commands { text += "        '\(command.name):\(quoted(command.summary))'\n" }
        text += "    )\n    if (( CURRENT == 2 )); then\n        _describe command commands\n        return\n    fi\n"
        text += "    shift words\n    (( CURRENT-- ))\n    case \"$words[1]\" in\n"
        for command in commands {
            text += "        \(command.name))\n            _arguments -s \\\n"
            for option in visible(command) { text += zshOption(option) }
            text += "                '*:file:_files' ;;\n"
        }
        return text + "    esac\n}\ncompdef _larder larder\n"
    }

    private func zshOption(_ option: Option) -> String {
        let help = quoted(option.help).replacing("[", with: "(").replacing("]", with: ")").replacing(":", with: "\\:")
        let action: String
        if !option.choices.isEmpty {
            action = "(" + option.choices.joined(separator: " ") + ")"
        } else {
            action = option.completion == .directory ? "_directories" : option.completion == .file ? "_files" : ""
        }
        let value = option.value.map { ":\($0):\(action)" } ?? ""
        let star = option.isRepeatable ? "*" : ""
        let long = "                '\(star)--\(option.name)\(option.value == nil ? "" : "=")[\(help)]\(value)' \\\n"
        guard let short = option.short else { return long }
        return long + "                '\(star)-\(short)\(option.value == nil ? "" : "+")[\(help)]\(value)' \\\n"
    }

    private func quoted(_ text: String) -> String { text.replacing("'", with: "'\\''").replacing("`", with: "") }

    private var fish: String {
        var text = "# fish completion for larder: put it as larder.fish into ~/.config/fish/completions.\n"
        for command in commands {
            text +=
                "complete -c larder -n __fish_use_subcommand -f -a \(command.name) -d '\(fishQuoted(command.summary))'\n"
        }
        for command in commands {
            for option in visible(command) {
                text += "complete -c larder -n '__fish_seen_subcommand_from \(command.name)' -l \(option.name)"
                if let short = option.short { text += " -s \(short)" }
                if option.value != nil {
                    text += " -r"
                    if !option.choices.isEmpty { text += " -f -a '\(option.choices.joined(separator: " "))'" }
                    if option.completion == .directory { text += " -f -a '(__fish_complete_directories)'" }
                }
                text += " -d '\(fishQuoted(option.help))'\n"
            }
        }
        return text
    }

    private func fishQuoted(_ text: String) -> String {
        text.replacing("`", with: "").replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    }
}
