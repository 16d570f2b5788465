import Foundation

/// One command of `larder`: its place in the table, and what it does. A command is a file in Commands/ and a line
/// in ``Program/commands``.
struct Command: Sendable {
    var name: String
    /// What it does, as the overview says it.
    var summary: String
    /// What follows the name: `MANIFEST|-`.
    var operands: String = ""
    /// Command lines, with a word on each; they come first in help.
    var examples: [(line: String, comment: String)] = []
    /// Its own options; the common ones come behind them.
    var options: [Option] = []
    /// Paragraphs for the documentation and the man page.
    var details: [String] = []
    /// Hidden commands are in no help.
    var isHidden = false
    var run: @Sendable (Arguments, Console) async throws -> ExitStatus

    /// Its own options and those that every command has.
    var allOptions: [Option] {
        options + CommonOptions.all.filter { common in !options.contains { $0.name == common.name } }
    }
}

/// What the process ends with.
enum ExitStatus: Int32, Sendable, CaseIterable {
    case success = 0
    /// Some images failed.
    case someFailed = 1
    /// Usage, or the manifest or directory cannot be read.
    case usage = 2
    /// No image succeeded.
    case noneSucceeded = 3
    case interrupted = 130
    case terminated = 143

    var meaning: String {
        switch self {
        case .success: "all well"
        case .someFailed: "some images failed"
        case .usage: "usage, or the manifest or the directory cannot be read"
        case .noneSucceeded: "no image succeeded"
        case .interrupted: "ended by Ctrl-C, after the report was completed"
        case .terminated: "ended by SIGTERM, after the report was completed; `serve` ends with 0 then"
        }
    }
}

/// A command that cannot go on, for a reason that is not its usage: exit status 2.
struct CommandFailure: Error {
    var message: String
    var hint: String?
    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}

/// Options that every command has.
enum CommonOptions {
    static let cache = Option.value(
        "cache", "DIR", "the cache directory", default: "./cache", common: true, completion: .directory)
    static let json = Option.flag("json", "results and summary as JSON on standard output")
    static let quiet = Option.flag("quiet", short: "q", "say nothing but errors", common: true)
    static let verbose = Option.flag("verbose", short: "v", "say more")
    static let color = Option.value(
        "color", "WHEN", "colours: auto, always or never", default: "auto", choices: ["auto", "always", "never"])
    static let help = Option.flag("help", short: "h", "this help; `--help all` shows every option")
    static let version = Option.flag("version", "versions of larder, its libraries and formats")
    static let all = [cache, json, quiet, verbose, color, help, version]
}

/// The program: which commands there are, and how one of them is called.
enum Program {
    static let commands: [Command] = [
        .prefetch, .get, .serve, .browse, .inspect, .thumbnail, .list, .stats, .verify, .trim, .clear, .export,
        .version, .completions, .documentation, .demo, .worker,
        .relay,
    ]

    static let summary = "downloads images once, checks them, and keeps them"

    /// Runs the command line without the program's name and gives the exit status. Never throws: whatever goes
    /// wrong has been said on standard error.
    static func run(_ arguments: [String], _ console: Console) async -> ExitStatus {
        var console = console
        do {
            return try await dispatch(arguments, &console)
        } catch let error as UsageError {
            console.fail(error.message, hint: error.hint)
            return .usage
        } catch let error as CommandFailure {
            console.fail(error.message, hint: error.hint)
            return .usage
        } catch let error as Console.OutputFailure {
            if error.isReaderGone { return .success }
            console.fail("standard output cannot be written: \(error.reason)")
            return .usage
        } catch {
            console.fail("\(error)")
            return .usage
        }
    }

    private static func dispatch(_ arguments: [String], _ console: inout Console) async throws -> ExitStatus {
        guard let name = arguments.first else {
            console.note(HelpText.overview())
            return .usage
        }
        switch name {
        case "-h", "--help":
            try console.print(HelpText.overview(all: arguments.dropFirst().first == "all"))
            return .success
        case "help":
            return try help(Array(arguments.dropFirst()), console)
        case "--version":
            return try await dispatch(["version"] + arguments.dropFirst(), &console)
        default: break
        }
        guard let command = commands.first(where: { $0.name == name }) else {
            let near = nearest(to: name, among: commands.filter { !$0.isHidden }.map(\.name))
            throw UsageError(
                name.hasPrefix("-")
                    ? "an option cannot stand before the command: \(name)" : "there is no command '\(name)'",
                hint: near.map { "Did you mean larder \($0)?" } ?? "larder --help shows them.")
        }
        let parser = ArgumentParser(command.allOptions, environment: console.environment)
        let parsed = try parser.parse(Array(arguments.dropFirst()))
        if let topic = try parsed.string("help") {
            try console.print(HelpText.help(command, all: topic == "all"))
            return .success
        }
        if try parsed.flag("version"), command.name != "version" { return try await dispatch(["version"], &console) }
        if command.operands.isEmpty, let operand = parsed.operands.first {
            throw UsageError(
                "\(command.name) takes no operand: \(operand)",
                hint: "--cache DIR names the cache directory; larder \(command.name) --help shows the rest.")
        }
        console.color = try parsed.string("color").flatMap(Console.ColorChoice.init) ?? .auto
        return try await command.run(parsed, console)
    }

    private static func help(_ arguments: [String], _ console: Console) throws -> ExitStatus {
        let names = arguments.filter { $0 != "all" }
        let isAll = arguments.contains("all")
        guard let name = names.first else {
            try console.print(HelpText.overview(all: isAll))
            return .success
        }
        guard let command = commands.first(where: { $0.name == name }) else {
            throw UsageError("there is no command '\(name)'", hint: "larder --help shows them.")
        }
        try console.print(HelpText.help(command, all: isAll))
        return .success
    }
}
