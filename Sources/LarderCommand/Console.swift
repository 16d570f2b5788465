import Foundation
import Larder
import LarderPrefetch
import LarderWorkers

/// Where a command writes: data on `out`, everything else on `err`. Tests put their own in its place.
struct Console: Sendable {
    var out: @Sendable ([UInt8]) throws(OutputFailure) -> Void
    var err: @Sendable ([UInt8]) -> Void
    var environment: [String: String]
    /// How the program was called, for commands to copy.
    var program = "larder"
    /// Of messages for people; JSON stays English.
    var language: MessageLanguage { MessageLanguage(environment: environment) }
    /// Whether each stream is a terminal.
    var outIsTerminal = false
    var errIsTerminal = false
    /// Columns of the terminal behind `err`; nil where there is none.
    var columns: @Sendable () -> Int? = { nil }
    /// `auto`, `always` or `never`: set from `--color`.
    var color = ColorChoice.auto

    enum ColorChoice: String, Sendable, CaseIterable { case auto, always, never }

    /// Standard output takes no more.
    struct OutputFailure: Error {
        /// The system's errno.
        var code = EPIPE
        /// Nobody reads any more (`| head`): the command ends quietly.
        var isReaderGone: Bool { code == EPIPE }
        var reason: String { String(cString: strerror(code)) }
    }

    /// The process's own streams.
    static func system() -> Console {
        Console(
            out: { (bytes) throws(OutputFailure) in
                let code = Descriptor.write(bytes, to: 1)
                if code != 0 { throw OutputFailure(code: code) }
            },
            err: { _ = Descriptor.write($0, to: 2) },
            environment: ProcessInfo.processInfo.environment,
            program: CommandLine.arguments.first.flatMap { $0.contains("/") ? $0 : nil } ?? "larder",
            outIsTerminal: isatty(1) == 1, errIsTerminal: isatty(2) == 1,
            columns: {
                var size = winsize()
                return ioctl(2, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : nil
            })
    }

    /// Lines for people. Nothing in them but line feeds moves the cursor; the colour is put around them here.
    func print(_ text: String, _ style: Style? = nil) throws(OutputFailure) {
        let text = text.harmlessLines
        try out(Array(((style.map { paint(text, $0, on: outIsTerminal) } ?? text) + "\n").utf8))
    }

    /// Lines for people, in which ``paint(_:_:on:)`` may have coloured words.
    func note(_ text: String) { err(Array((harmlessButPaint(text) + "\n").utf8)) }

    /// One line from the program itself: a warning, or what it does.
    func say(_ text: String) { err(Array(("larder: " + text.harmless + "\n").utf8)) }

    /// An error for people: what was wrong and, on a line of its own, what to do.
    func fail(_ message: String, hint: String? = nil) {
        note(paint("larder:", .red, on: errIsTerminal) + " " + message.harmless)
        if let hint { note("  " + hint.harmless) }
    }

    enum Style: String, CaseIterable {
        case red = "31"
        case green = "32"
        case yellow = "33"
        case dim = "2"
        case bold = "1"
    }

    func paint(_ text: String, _ style: Style, on terminal: Bool) -> String {
        hasColor(terminal) ? "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m" : text
    }

    /// Lets the sequences of `paint` through, where there are any, and no other.
    private func harmlessButPaint(_ text: String) -> String {
        guard hasColor(errIsTerminal) else { return text.harmlessLines }
        let paints = Style.allCases.map { "[\($0.rawValue)m" } + ["[0m"]
        let pieces = text.split(separator: "\u{1b}", omittingEmptySubsequences: false)
        return pieces[0].description.harmlessLines
            + pieces.dropFirst().map { piece in
                let isOurs = paints.contains { piece.hasPrefix($0) }
                return (isOurs ? "\u{1b}" : "\u{FFFD}") + String(piece).harmlessLines
            }.joined()
    }

    /// `NO_COLOR` (not empty) and `TERM=dumb` turn colour off where `--color` does not say otherwise.
    func hasColor(_ terminal: Bool) -> Bool {
        switch color {
        case .always: true
        case .never: false
        case .auto: terminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
        }
    }

    /// Columns of the terminal; 80 where it cannot be told.
    var width: Int {
        if let columns = columns() { return columns }
        guard let columns = environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 else { return 80 }
        return columns
    }
}
