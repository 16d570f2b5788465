import Larder

/// An option of the command line, as it stands in the one table that parsing, `--help`, the documentation, the
/// man page and the completions are made from.
struct Option: Sendable {
    /// Without dashes: `size`.
    var name: String
    /// `s` for `-s`.
    var short: Character?
    /// What a value is called in help: `SIZE`. nil for a flag.
    var value: String?
    /// One sentence, without a full stop.
    var help: String
    /// The only values allowed; empty where any will do.
    var choices: [String] = []
    /// The default, as written in help; nil where there is none.
    var defaultValue: String?
    var isRepeatable = false
    /// Whether the short help shows it.
    var isCommon = false
    /// Hidden options parse but are documented nowhere.
    var isHidden = false
    /// What completion offers for the value.
    var completion = Completion.none

    enum Completion: Sendable { case none, file, directory }

    /// The variable that stands in where the option is not given: `LARDER_MAX_TIME`.
    var environment: String { "LARDER_" + name.uppercased().replacing("-", with: "_") }

    /// `-s, --size SIZE`
    var synopsis: String {
        (short.map { "-\($0), " } ?? "    ") + "--" + name + (value.map { " " + $0 } ?? "")
    }

    static func flag(
        _ name: String, short: Character? = nil, _ help: String, common: Bool = false, hidden: Bool = false
    ) -> Option {
        Option(name: name, short: short, help: help, isCommon: common, isHidden: hidden)
    }

    static func value(
        _ name: String, short: Character? = nil, _ value: String, _ help: String, default defaultValue: String? = nil,
        choices: [String] = [], repeatable: Bool = false, common: Bool = false, hidden: Bool = false,
        completion: Completion = .none
    ) -> Option {
        Option(
            name: name, short: short, value: value, help: help, choices: choices, defaultValue: defaultValue,
            isRepeatable: repeatable, isCommon: common, isHidden: hidden, completion: completion)
    }
}

/// A mistake in how the command was called: exit status 2. Says what was wrong and what to do.
struct UsageError: Error, Equatable {
    var message: String
    /// What would help: shown on a line of its own.
    var hint: String?

    init(_ message: String, hint: String? = nil) {
        self.message = message
        self.hint = hint
    }
}

/// Splits a command's arguments by its options: `--opt value`, `--opt=value`, `-j8`, `-j 8`, grouped short flags
/// `-qv`, and `--` before operands that begin with a dash. `-` alone is an operand.
struct ArgumentParser {
    let options: [Option]
    let environment: [String: String]

    init(_ options: [Option], environment: [String: String] = [:]) {
        self.options = options
        self.environment = environment
    }

    func parse(_ arguments: [String]) throws(UsageError) -> Arguments {
        var result = Arguments(options: options, environment: environment)
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                result.operands += rest
                break
            } else if argument.hasPrefix("--") {
                try parseLong(argument.dropFirst(2), &rest, into: &result)
            } else if argument.hasPrefix("-"), argument != "-" {
                try parseShort(argument.dropFirst(), &rest, into: &result)
            } else {
                result.operands.append(argument)
            }
        }
        return result
    }

    private func parseLong(
        _ text: Substring, _ rest: inout ArraySlice<String>, into result: inout Arguments
    ) throws(UsageError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let attached = parts.count > 1 ? String(parts[1]) : nil
        guard let option = options.first(where: { $0.name == name }) else { throw unknown("--" + name) }
        if option.name == "help" {
            // `--help all`: the only option whose value may be left out.
            let isAll = rest.first == "all" && attached == nil
            if isAll { rest.removeFirst() }
            return result.add(option, attached ?? (isAll ? "all" : ""))
        }
        guard let metavariable = option.value else {
            guard attached == nil else { throw UsageError("--\(name) takes no value") }
            return result.add(option, "")
        }
        guard let value = attached ?? rest.popFirst() else {
            throw UsageError("--\(name) wants a value: --\(name) \(metavariable)")
        }
        result.add(option, try checked(value, option))
    }

    private func parseShort(
        _ text: Substring, _ rest: inout ArraySlice<String>, into result: inout Arguments
    ) throws(UsageError) {
        var letters = text
        while let letter = letters.popFirst() {
            guard let option = options.first(where: { $0.short == letter }) else { throw unknown("-\(letter)") }
            guard let metavariable = option.value else {
                result.add(option, "")
                continue
            }
            let value: String
            if !letters.isEmpty {
                value = String(letters)
            } else if let next = rest.popFirst() {
                value = next
            } else {
                throw UsageError("-\(letter) wants a value: -\(letter) \(metavariable)")
            }
            return result.add(option, try checked(value, option))
        }
    }

    private func checked(_ value: String, _ option: Option) throws(UsageError) -> String {
        guard option.choices.isEmpty || option.choices.contains(value) else {
            throw UsageError(
                "--\(option.name) cannot be '\(value)'", hint: "It is one of: " + option.choices.joined(separator: ", ")
            )
        }
        return value
    }

    private func unknown(_ given: String) -> UsageError {
        let names = options.filter { !$0.isHidden }.map { "--" + $0.name }
        let near = nearest(to: given, among: names)
        return UsageError("there is no option \(given)", hint: near.map { "Did you mean \($0)?" })
    }
}

/// What was given: the flag, else the environment's `LARDER_…`, else nothing, and the caller's default holds.
struct Arguments: Sendable {
    private var options: [String: Option]
    private var given: [String: [String]] = [:]
    private let environment: [String: String]
    var operands: [String] = []

    init(options: [Option], environment: [String: String]) {
        self.options = Dictionary(options.map { ($0.name, $0) }) { first, _ in first }
        self.environment = environment
    }

    fileprivate mutating func add(_ option: Option, _ value: String) {
        if option.isRepeatable { given[option.name, default: []].append(value) } else { given[option.name] = [value] }
    }

    /// Every value of a repeatable option, in order.
    func strings(_ name: String) throws(UsageError) -> [String] {
        guard let option = options[name] else { preconditionFailure("the command has no option --\(name)") }
        if let values = given[name] { return values }
        guard name != "help", name != "version", let value = environment[option.environment], !value.isEmpty else {
            return []
        }
        guard option.choices.isEmpty || option.choices.contains(value) else {
            throw UsageError(
                "\(option.environment) in the environment cannot be '\(value)'",
                hint: "It is one of: " + option.choices.joined(separator: ", "))
        }
        return [value]
    }

    func string(_ name: String) throws(UsageError) -> String? { try strings(name).last }

    /// Every option that was given, here or in the environment, as words for another process of this program.
    var words: [String] {
        get throws(UsageError) {
            var words: [String] = []
            for (name, option) in options.sorted(by: { $0.key < $1.key }) where name != "help" && name != "version" {
                if option.value == nil {
                    if try flag(name) { words.append("--" + name) }
                } else {
                    words += try strings(name).map { "--\(name)=\($0)" }
                }
            }
            return words
        }
    }

    /// The options on the command line as words to be shown and typed again, but for those named; what is secret in
    /// them is left out.
    func spoken(except left: Set<String>) -> [String] {
        given.sorted { $0.key < $1.key }.filter { !left.contains($0.key) }.flatMap { name, values -> [String] in
            guard options[name]?.value != nil else { return ["--" + name] }
            return values.flatMap { ["--" + name, Self.harmless(name, $0)] }
        }
    }

    private static func harmless(_ name: String, _ value: String) -> String {
        switch name {
        case "header":
            let field = value.prefix { $0 != ":" }
            return Credentials.isCredential(String(field)) ? "\(field): …" : value
        case "proxy": return withoutUserInfo(value)
        default: return value
        }
    }

    /// A URL without the name and password before its host.
    static func withoutUserInfo(_ text: String) -> String {
        guard let start = text.range(of: "://")?.upperBound else { return text }
        let authority = text[start...].prefix { !"/?#".contains($0) }
        guard let at = authority.lastIndex(of: "@") else { return text }
        return text[..<start] + "…" + text[at...]
    }

    /// Whether the flag was given; from the environment: 1, true, yes or on.
    func flag(_ name: String) throws(UsageError) -> Bool {
        if given[name] != nil { return true }
        guard let value = try string(name)?.lowercased() else { return false }
        switch value {
        case "1", "true", "yes", "on": return true
        case "0", "false", "no", "off": return false
        default: throw mistake(name, value, "1 or 0")
        }
    }

    func integer(_ name: String, in range: ClosedRange<Int>) throws(UsageError) -> Int? {
        guard let text = try string(name) else { return nil }
        guard let value = Int(text), range.contains(value) else {
            let most =
                range.upperBound == .max ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
            throw mistake(name, text, "a whole number, \(most)")
        }
        return value
    }

    func number(_ name: String, in range: ClosedRange<Double>) throws(UsageError) -> Double? {
        guard let text = try string(name) else { return nil }
        guard let value = Double(text), range.contains(value) else {
            throw mistake(name, text, "a number of at least \(range.lowerBound)")
        }
        return value
    }

    /// A size in bytes: `50M`. K, M, G and T are powers of 1024, as with curl.
    func bytes(_ name: String) throws(UsageError) -> Int? {
        try scaled(name, base: 1024, example: "bytes, such as 500K, 50M or 2G")
    }

    /// A count: `100M` is 100 million.
    func count(_ name: String) throws(UsageError) -> Int? {
        try scaled(name, base: 1000, example: "a count, such as 500000 or 100M")
    }

    /// A time in seconds: `7d`, `12h`, `30m`, `45s`, `0.5`.
    func duration(_ name: String) throws(UsageError) -> Double? {
        guard let text = try string(name) else { return nil }
        let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800]
        let unit = text.last.flatMap { units[$0] }
        guard let value = Double(unit == nil ? text[...] : text.dropLast()), value >= 0, value * (unit ?? 1) <= 1e10
        else { throw mistake(name, text, "a time, such as 45s, 30m, 12h or 7d") }
        return value * (unit ?? 1)
    }

    private func scaled(_ name: String, base: Int, example: String) throws(UsageError) -> Int? {
        guard let text = try string(name) else { return nil }
        let powers: [Character: Int] = ["k": 1, "m": 2, "g": 3, "t": 4]
        let power = text.last.flatMap { powers[Character($0.lowercased())] }
        let factor = (0..<(power ?? 0)).reduce(1.0) { product, _ in product * Double(base) }
        guard let value = Double(power == nil ? text[...] : text.dropLast()), value >= 0,
            let whole = Int(exactly: (value * factor).rounded())
        else { throw mistake(name, text, example) }
        return whole
    }

    private func mistake(_ name: String, _ value: String, _ wanted: String) -> UsageError {
        let place = given[name] == nil ? (options[name]?.environment ?? name) + " in the environment" : "--\(name)"
        return UsageError("\(place) cannot be '\(value)'", hint: "It wants \(wanted).")
    }
}

/// The candidate that `given` was most likely meant to be: at most a third of its letters differ, or it begins so.
func nearest(to given: String, among candidates: [String]) -> String? {
    let scored = candidates.map { (distance(Array(given), Array($0)), $0) }
    if let best = scored.min(by: { $0.0 < $1.0 }), best.0 <= max(1, min(3, given.count / 3)) { return best.1 }
    return given.count > 4 ? candidates.first { $0.hasPrefix(given) } : nil
}

/// Letters to change, add, remove or swap with their neighbour to come from one word to the other.
private func distance(_ left: [Character], _ right: [Character]) -> Int {
    var rows = [Array(0...right.count)]
    for i in left.indices {
        var row = [i + 1]
        for j in right.indices {
            var cost = min(rows[i][j] + (left[i] == right[j] ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
            if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                cost = min(cost, rows[i - 1][j - 1] + 1)
            }
            row.append(cost)
        }
        rows.append(row)
    }
    return rows[left.count][right.count]
}
