import Foundation
import Larder
import LarderPrefetch
import LarderWorkers
import TestSupport
import Testing

@testable import LarderCommand

@Suite(.timeLimit(.minutes(1))) struct ProgressDisplayTests {
    private let kept = KeptConsole()
    private let time = ManualTime()
    private let counts = Lock((tally: Tally(), underWay: 0))

    private func console(_ environment: [String: String] = [:], columns: Int? = nil) -> Console {
        var console = kept.console(environment)
        console.errIsTerminal = true
        console.columns = { columns }
        return console
    }

    private func finish(_ rows: Int, bytes: Int = 0, code: String? = nil, underWay: Int = 0) {
        counts.withLock { counts in
            for _ in 0..<rows {
                let outcome = code.map { RowResult.Outcome.failure(code: $0) } ?? .success(.network)
                let row = Row(number: counts.tally.total + 1, url: "http://a/")
                counts.tally.count(row, RowResult(outcome: outcome, bytes: bytes, tail: []), isDuplicate: false)
            }
            counts.underWay = underWay
        }
    }

    /// Runs the display over `steps`, each followed by `seconds`, and ends it.
    private func show(_ display: ProgressDisplay, every seconds: Double, _ steps: [() -> Void]) async {
        let showing = Task { [counts] in await display.run { counts.withLock { $0 } } }
        for step in steps {
            // Asleep: what was there before has been shown.
            await time.sleepers(1)
            step()
            time.advance(seconds: seconds)
        }
        await time.sleepers(1)
        showing.cancel()
        await showing.value
    }

    @Test(arguments: [
        ("auto", false, true, "xterm", ProgressDisplay.Mode.line), ("auto", false, false, "xterm", .none),
        ("auto", false, true, "dumb", .none), ("always", false, true, "xterm", .line),
        ("always", false, false, "xterm", .plain), ("always", false, true, "dumb", .plain),
        ("never", false, true, "xterm", .none), ("auto", true, true, "xterm", .none),
        ("always", true, false, "xterm", .none),
    ])
    func choosesHowToShow(choice: String, quiet: Bool, terminal: Bool, term: String, mode: ProgressDisplay.Mode) {
        var console = console(["TERM": term])
        console.errIsTerminal = terminal
        #expect(ProgressDisplay.mode(choice, quiet: quiet, console) == mode)
        #expect(ProgressDisplay(mode, console).isShown == (mode != .none))
    }

    @Test func aPlainLineEveryTenSeconds() async {
        let display = ProgressDisplay(.plain, console(), expected: 100, time: time)
        await show(
            display, every: 10,
            [
                { finish(20, bytes: 1000) },
                {
                    finish(10)
                    finish(5, code: "timed_out")
                },
            ])
        #expect(time.slept == [10, 10, 10])
        #expect(
            kept.err == """
                20 of 100 done, 2.0 rows/s, 1.95 KB/s, 40.0 s to go
                35 of 100 done, 1.5 rows/s, 0 B/s, 43.3 s to go, 5 failed (5 timed_out)

                """)
    }

    @Test func aLineIsWrittenOverAndTakenAwayAtTheEnd() async {
        let display = ProgressDisplay(.line, console(["NO_COLOR": "1"], columns: 100), time: time)
        await show(
            display, every: 0.2,
            [
                { finish(1, underWay: 4) },
                {
                    finish(1, code: "http_status", underWay: 3)
                    display.expect(8)
                },
            ])
        #expect(time.slept == [0.2, 0.2, 0.2])
        let pieces = kept.err.split(separator: "\r").map(String.init)
        try? #require(pieces.count == 3)
        #expect(pieces[0] == "1  5/s  4 under way\u{1b}[K")
        #expect(pieces[1].hasPrefix("███████░░░"))
        #expect(pieces[1].contains("2/8  5/s  ETA 1.20 s  3 under way  1 failed (1 http_status)\u{1b}[K"))
        #expect(pieces[2] == "\u{1b}[K")
        #expect(!kept.err.contains("\n"))
    }

    @Test(arguments: [20, 40, 80, 200]) func theLineFitsTheTerminal(columns: Int) async {
        let display = ProgressDisplay(.line, console(columns: columns), expected: 1000, time: time)
        await show(
            display, every: 0.2,
            [
                {
                    finish(30, bytes: 100_000, underWay: 16)
                    finish(20, code: "http_status")
                }
            ])
        let line = kept.err.split(separator: "\r")[0]
            .replacing("\u{1b}[31m", with: "").replacing("\u{1b}[0m", with: "").replacing("\u{1b}[K", with: "")
        #expect(line.count < columns, "one column less: a terminal may wrap behind the last")
        #expect(line.contains("50/1"))
    }

    @Test(arguments: [-3, 0, 1]) func noWidthIsTooSmall(columns: Int) async {
        let display = ProgressDisplay(.line, console(columns: columns), expected: 1000, time: time)
        await show(display, every: 0.2, [{ finish(30) }, { finish(20, code: "http_status") }])
        #expect(kept.err == "\r\u{1b}[K\r\u{1b}[K\r\u{1b}[K")
    }

    @Test func failuresAreRed() async {
        let display = ProgressDisplay(.line, console(columns: 100), time: time)
        await show(display, every: 0.2, [{ finish(1, code: "timed_out") }])
        #expect(kept.err.contains("\u{1b}[31m  1 failed (1 timed_out)\u{1b}[0m"))
    }

    @Test func nothingIsShownWhereNothingIsWanted() async {
        finish(1)
        await ProgressDisplay(.none, console(), time: time).run { [counts] in counts.withLock { $0 } }
        #expect(kept.err.isEmpty)
        #expect(time.slept.isEmpty)
    }

    @Test func theWidthIsTheTerminals() {
        #expect(console(["COLUMNS": "70"], columns: 120).width == 120)
        #expect(console(["COLUMNS": "70"]).width == 70)
        for columns in ["wide", "0", "-3", ""] { #expect(console(["COLUMNS": columns]).width == 80) }
    }
}
