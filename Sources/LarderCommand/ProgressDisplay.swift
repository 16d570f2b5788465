import Foundation
import Larder
import LarderPrefetch

/// Shows how a job goes on: a line that is written over on a terminal, a plain line now and then elsewhere.
final class ProgressDisplay: Sendable {
    enum Mode: Sendable { case line, plain, none }

    private let mode: Mode
    private let console: Console
    private let time: any TimeSource
    private let line: Lock<ProgressLine>

    init(_ mode: Mode, _ console: Console, expected: Int? = nil, time: any TimeSource = SystemTime()) {
        self.mode = mode
        self.console = console
        self.time = time
        line = Lock(ProgressLine(expected: expected, begin: Double(time.monotonic) / 1e9))
    }

    /// `auto`: only on a terminal; `always`: on anything; nothing where quiet.
    static func mode(_ choice: String, quiet: Bool, _ console: Console) -> Mode {
        if quiet || choice == "never" { return .none }
        let canMove = console.errIsTerminal && console.environment["TERM"] != "dumb"
        return canMove ? .line : choice == "always" ? .plain : .none
    }

    var isShown: Bool { mode != .none }

    /// How many rows there will be: known later than the job has begun.
    func expect(_ rows: Int) { line.withLock { $0.expected = rows } }

    /// Shows what `counts` says until the task is cancelled.
    func run(_ counts: @Sendable () -> (tally: Tally, underWay: Int)) async {
        await mode.show(on: console, time: time) { text(counts()) }
    }

    private func text(_ counts: (tally: Tally, underWay: Int)) -> String {
        let now = Double(time.monotonic) / 1e9
        return line.withLock { line in
            line.note(counts.tally, now: now)
            guard mode == .line else { return line.plainText(counts.tally) }
            return line.text(counts.tally, underWay: counts.underWay, width: console.width) { text, style in
                style == "red" ? console.paint(text, .red, on: true) : text
            }
        }
    }
}

extension ProgressDisplay.Mode {
    /// Shows what `text` gives, now and then, until the task is cancelled; nil where there is nothing to show yet. A line
    /// that is written over is taken away at the end.
    func show(on console: Console, time: any TimeSource = SystemTime(), _ text: @Sendable () -> String?) async {
        guard self != .none else { return }
        var isShown = false
        while (try? await time.sleep(seconds: self == .line ? 0.2 : 10)) != nil {
            guard let text = text() else { continue }
            console.err(Array((self == .line ? "\r\(text)\u{1b}[K" : text + "\n").utf8))
            isShown = true
        }
        if isShown, self == .line { console.err(Array("\r\u{1b}[K".utf8)) }
    }
}
