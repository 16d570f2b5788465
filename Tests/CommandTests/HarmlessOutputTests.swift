import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderCommand

/// What servers, manifests and file names say reaches the terminal as text and as nothing else.
@Suite(.timeLimit(.minutes(1))) struct HarmlessOutputTests {
    /// Sets the title and rings, goes home, forges a line, turns the direction of reading.
    private static let attack = "\u{1b}]0;pwned\u{7}\u{9b}H\u{1b}[31m\u{202e}x"

    private let kept = KeptConsole()
    private let folder = TemporaryDirectory()
    private let origin: Origin

    init() throws {
        origin = try Origin()
        origin.on("/moved.png", .redirect("ftp://\(Self.attack)"))
        origin.on("/list.json", .ok(Array(#"{"a\u001b[2J\u009b\u202e\n":1}"#.utf8), type: "application/json"))
    }

    /// Runs a command on a terminal with colours, and one without.
    private func run(_ arguments: [String]) async {
        let quiet = arguments[0] == "prefetch" ? ["--workers", "0", "--progress", "never"] : []
        for isTerminal in [true, false] {
            var console = kept.console()
            console.outIsTerminal = isTerminal
            console.errIsTerminal = isTerminal
            _ = await Program.run(arguments + quiet, console)
        }
    }

    private func loading(_ transport: TransportKind) -> [String] {
        ["--cache", folder("cache"), "--retry", "0", "--transport", transport.rawValue]
    }

    /// Everything that was written, without line feeds and the program's own colours.
    private func expectHarmless(saying words: String, _ place: SourceLocation = #_sourceLocation) {
        var text = kept.out + kept.err
        #expect(text.contains(words), "\(text)", sourceLocation: place)
        for style in Console.Style.allCases {
            // A colour ends where it should: nobody else may turn one on.
            text = text.replacing("\u{1b}[\(style.rawValue)m", with: "")
        }
        text = text.replacing("\u{1b}[0m", with: "")
        let bad = text.unicodeScalars.filter {
            [.control, .format].contains($0.properties.generalCategory) && $0 != "\n"
        }
        #expect(
            bad.isEmpty, "\(bad.map { String($0.value, radix: 16) }) in \(text.debugDescription)", sourceLocation: place
        )
    }

    @Test(arguments: TransportKind.network) func whatAServerSays(transport: TransportKind) async {
        let url = origin.url("/moved.png").absoluteString
        await run(["get", url] + loading(transport))
        expectHarmless(saying: "\u{FFFD}[31m")
        await run(["inspect", url, "--transport", transport.rawValue])
        expectHarmless(saying: "\(url): invalid_url")
    }

    @Test(arguments: TransportKind.network) func theSummary(transport: TransportKind) async throws {
        let manifest = folder("list.jsonl")
        let rows = [#"{"url":"\#(origin.url("/moved.png"))"}"#, #"{"url":"x\u001b[31m\u009b\u202e\ny"}"#]
        try rows.joined(separator: "\n").write(toFile: manifest, atomically: false, encoding: .utf8)
        await run(["prefetch", manifest, "--verbose"] + loading(transport))
        expectHarmless(saying: "x\u{FFFD}[31m\u{FFFD}\u{FFFD}\u{FFFD}y")
        expectHarmless(saying: "]0;pwned")
    }

    @Test func theKeysOfAnAPI() async {
        await run(["prefetch", origin.url("/list.json").absoluteString, "--cache", folder("cache")])
        expectHarmless(saying: "with the keys a\u{FFFD}[2J\u{FFFD}\u{FFFD}\u{FFFD}, not a list")
        await run(
            ["prefetch", origin.url("/list.json").absoluteString, "--items-path", "b", "--cache", folder("cache")])
        expectHarmless(saying: "only: a\u{FFFD}[2J")
    }

    @Test func theColumnsOfATable() async throws {
        let manifest = folder("list.csv")
        try "a\(Self.attack),b\n1,2\n".write(toFile: manifest, atomically: false, encoding: .utf8)
        await run(["prefetch", manifest, "--cache", folder("cache")])
        expectHarmless(saying: "only: a\u{FFFD}]0;pwned")
    }

    @Test func theNamesOfFiles() async throws {
        let name = folder("a\(Self.attack)\nb.png")
        try Data(ImageFixtures.png(width: 4, height: 3)).write(to: URL(filePath: name))
        await run(["inspect", name])
        await run(["inspect", name + "-missing"])
        await run(["thumbnail", name, "-s", "2", "-o", folder("t")])
        await run(["thumbnail", name + "-missing", "-s", "2", "-o", folder("t")])
        expectHarmless(saying: "\u{FFFD}x\u{FFFD}b.png: png")
        await run(["export", "--no-such-\(Self.attack)"])
        expectHarmless(saying: "no-such")
    }

    @Test func theListRenderer() {
        let screen = BrowseScreen(harmless: { $0.harmless })
        let row = BrowseRow(title: Self.attack, address: "", flaw: Self.attack, origin: .manifest(number: 1, id: nil))
        let item = BrowseScreen.Item(row: row, phase: .empty, progress: nil, picture: [], isSelected: false)
        let text = screen.list([item], status: Self.attack) + screen.details([("id", Self.attack)], status: "")
        #expect(text.contains("pwned"))
        for bad in ["\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}"] { #expect(!text.contains(bad)) }
    }

    @Test func onlyOurOwnColoursAreLeft() {
        var console = kept.console()
        console.errIsTerminal = true
        let word = console.paint("a", .red, on: true)
        console.note("\(word)\u{1b}[35mb\u{1b}\nc")
        #expect(kept.err == "\u{1b}[31ma\u{1b}[0m\u{FFFD}[35mb\u{FFFD}\nc\n")
        console.color = .never
        console.note("\u{1b}[31md")
        #expect(kept.err.hasSuffix("\u{FFFD}[31md\n"))
    }
}
