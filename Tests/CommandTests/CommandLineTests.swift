import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderCommand

/// A console whose streams are kept.
final class KeptConsole: Sendable {
    private let streams = Lock((out: [UInt8](), err: [UInt8]()))

    func console(_ environment: [String: String] = [:]) -> Console {
        Console(
            out: { [streams] (bytes) throws(Console.OutputFailure) in streams.withLock { $0.out += bytes } },
            err: { [streams] bytes in streams.withLock { $0.err += bytes } }, environment: environment)
    }

    var out: String { String(decoding: streams.withLock { $0.out }, as: UTF8.self) }
    var err: String { String(decoding: streams.withLock { $0.err }, as: UTF8.self) }
}

struct CommandLineTests {
    private let kept = KeptConsole()

    private func run(_ arguments: String...) async -> LarderCommand.ExitStatus {
        await Program.run(arguments, kept.console())
    }

    @Test func showsItselfWithoutArguments() async {
        #expect(await run() == .usage)
        #expect(kept.err.contains("larder prefetch urls.txt"))
        #expect(kept.out.isEmpty)
    }

    @Test func suggestsTheNearestCommand() async {
        #expect(await run("prefecth") == .usage)
        #expect(kept.err == "larder: there is no command 'prefecth'\n  Did you mean larder prefetch?\n")
    }

    @Test func saysWhichOptionIsWrong() async {
        #expect(await run("prefetch", "--repot", "x") == .usage)
        #expect(kept.err.contains("there is no option --repot"))
        #expect(kept.err.contains("Did you mean --report?"))
    }

    @Test(arguments: [
        ["prefetch"], ["inspect"], ["get"], ["thumbnail", "a.jpg"], ["completions"], ["prefetch", "a", "b"],
    ])
    func saysWhatIsMissing(arguments: [String]) async {
        #expect(await Program.run(arguments, kept.console()) == .usage)
        #expect(kept.err.hasPrefix("larder: \(arguments[0]) wants"))
    }

    @Test(arguments: ["version", "documentation", "demo", "list", "stats", "verify", "trim"])
    func takesNoOperandWhereThereIsNone(command: String) async {
        #expect(await run(command, "stray") == .usage)
        #expect(kept.err.hasPrefix("larder: \(command) takes no operand: stray\n"))
        #expect(kept.out.isEmpty)
    }

    @Test func saysOfAFileThatItIsNotThere() async {
        #expect(await run("inspect", "--json", "/none/a.jpg") == .someFailed)
        #expect(kept.out.contains("\"message\":\"/none/a.jpg cannot be read: No such file or directory\""))
        #expect(await run("inspect", "-", "-") == .usage)
    }

    @Test func helpOfPrefetchFitsOnAScreenAndBeginsWithExamples() async {
        #expect(await run("prefetch", "--help") == .success)
        let lines = kept.out.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines.count <= 24, "\(lines.count) lines")
        #expect(lines.allSatisfy { $0.count <= 80 })
        #expect(lines[2...4].allSatisfy { $0.contains("larder prefetch ") && !$0.contains("Usage") })
    }

    @Test func helpAllShowsEveryOption() async {
        #expect(await run("prefetch", "--help", "all") == .success)
        for option in Command.prefetch.allOptions where !option.isHidden {
            #expect(kept.out.contains("--" + option.name))
        }
    }

    @Test func optionsAreToldApart() {
        for command in Program.commands {
            let names = command.allOptions.map(\.name)
            #expect(Set(names).count == names.count, "\(command.name) has an option twice")
            let letters = command.allOptions.compactMap(\.short)
            #expect(Set(letters).count == letters.count, "\(command.name) has a letter twice")
            for option in command.allOptions where !option.choices.isEmpty && option.defaultValue != nil {
                #expect(option.choices.contains { option.defaultValue!.hasPrefix($0) })
            }
        }
    }

    @Test func versionNamesFormatsAndLibraries() async throws {
        #expect(await run("--version") == .success)
        #expect(kept.out.hasPrefix("larder \(LarderVersion.string)\n"))
        for word in ["libpng", "SQLite", "OpenSSL", "zlib", "jpeg", "urlsession"] { #expect(kept.out.contains(word)) }
        let json = KeptConsole()
        #expect(await Program.run(["version", "--json"], json.console()) == .success)
        #expect(try JSONSerialization.jsonObject(with: Data(json.out.utf8)) is [String: Any])
    }

    @Test func endsQuietlyWhereNobodyReads() async {
        var console = kept.console()
        console.out = { (_) throws(Console.OutputFailure) in throw Console.OutputFailure() }
        #expect(await Program.run(["--version"], console) == .success)
        #expect(kept.err.isEmpty)
    }

    @Test func aFullDiskBehindStandardOutputIsAnError() async {
        var console = kept.console()
        console.out = { (_) throws(Console.OutputFailure) in throw Console.OutputFailure(code: ENOSPC) }
        #expect(await Program.run(["--version"], console) == .usage)
        #expect(kept.err.contains("No space left on device"))
    }

    @Test func failedRowsAreToldByTheStatusThoughNobodyReads() async throws {
        let folder = TemporaryDirectory()
        try "no-scheme\n".write(toFile: folder("list.txt"), atomically: true, encoding: .utf8)
        var console = kept.console()
        console.out = { (_) throws(Console.OutputFailure) in throw Console.OutputFailure() }
        let words = ["prefetch", folder("list.txt"), "--cache", folder("cache"), "--workers", "0", "--json"]
        #expect(await Program.run(words, console) == .noneSucceeded)
    }

    /// `larder documentation > Documentation/command-line.md` after every change of an option.
    @Test func theCommittedReferenceIsThatOfTheTables() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let path = root.appending(path: "Documentation/command-line.md")
        // Which transports there are depends on the build.
        let committed = try String(contentsOf: path, encoding: .utf8)
        #expect(committed == CommandReference.markdown(), "run: larder documentation > Documentation/command-line.md")
    }

    @Test func theManualIsMarkup() {
        let text = CommandReference.manual(version: "1")
        #expect(text.hasPrefix(".TH LARDER 1"))
        for section in [".SH NAME", ".SH SYNOPSIS", ".SH EXAMPLES", ".SH EXIT STATUS"] {
            #expect(text.contains(section))
        }
        #expect(text.contains("\\-\\-parallel\\-max"))
    }

    @Test(arguments: CompletionScript.allCases) func completionsKnowEveryCommandAndOption(shell: CompletionScript) {
        let text = shell.text
        for command in Program.commands where !command.isHidden {
            #expect(text.contains(command.name))
            for option in command.allOptions where !option.isHidden { #expect(text.contains(option.name)) }
        }
        #expect(!text.contains("documentation"), "what is hidden stays so")
    }

    @Test func bashTakesItsScript() throws {
        let process = Process()
        process.executableURL = URL(filePath: "/bin/bash")
        process.arguments = ["-n", "-c", CompletionScript.bash.text]
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    @Test(arguments: [
        (["--header", "X: a\r\nY: b"], "control character"), (["--header", "no colon"], "a name, a colon"),
        (["--header", "b ad: x"], "a name, a colon"), (["--allow-host", "http://x/"], "example.com"),
        (["--offline", "--refresh"], "cannot both be"), (["--shard", "5/4"], "1/4 to 4/4"),
        (["--size", "big"], "256x256"),
        (["--max-time", "0"], "more than 0"), (["--parallel-max", "0"], "1 to 1024"),
        (["--format-allow", "doc"], "jpeg"),
    ])
    func refusesWhatCannotBe(options: [String], words: String) async {
        let manifest = FileManager.default.temporaryDirectory.appending(path: "larder-\(UUID()).txt").path
        try? "".write(toFile: manifest, atomically: false, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: manifest) }
        #expect(
            await Program.run(["prefetch", manifest, "--cache", manifest + ".cache"] + options, kept.console())
                == .usage)
        #expect(kept.err.contains(words), "\(kept.err)")
    }

    @Test func noColorMeansNoColor() {
        var console = kept.console()
        #expect(console.paint("x", .red, on: true) == "\u{1b}[31mx\u{1b}[0m")
        #expect(console.paint("x", .red, on: false) == "x")
        console.environment = ["NO_COLOR": "1"]
        #expect(console.paint("x", .red, on: true) == "x")
        console.color = .always
        #expect(console.paint("x", .red, on: false) != "x")
    }
}
