extension Command {
    /// Writes what is generated from the tables: `larder documentation > Documentation/command-line.md`.
    static let documentation = Command(
        name: "documentation", summary: "the command line's reference as Markdown or as a man page",
        options: [.value("format", "FORMAT", "what to write", default: "markdown", choices: ["markdown", "man"])],
        isHidden: true,
        run: { arguments, console in
            let isManual = try arguments.string("format") == "man"
            let text = isManual ? CommandReference.manual(version: VersionText.version) : CommandReference.markdown()
            try console.out(Array(text.utf8))
            return .success
        })
}
