extension Command {
    static let completions = Command(
        name: "completions", summary: "a completion script for bash, zsh or fish", operands: "bash|zsh|fish",
        examples: [
            ("larder completions bash > ~/.local/share/bash-completion/completions/larder", "completion in bash")
        ],
        run: { arguments, console in
            guard arguments.operands.count == 1, let script = CompletionScript(rawValue: arguments.operands[0]) else {
                throw UsageError("completions wants the name of a shell", hint: "larder completions bash, zsh or fish")
            }
            try console.out(Array(script.text.utf8))
            return .success
        })
}
