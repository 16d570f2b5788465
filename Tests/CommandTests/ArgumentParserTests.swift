import Testing

@testable import LarderCommand

struct ArgumentParserTests {
    private let options: [Option] = [
        .value("size", short: "s", "SIZE", "size", repeatable: true),
        .value("parallel-max", short: "j", "N", "at once"),
        .value("max-filesize", "BYTES", "most bytes"),
        .value("max-pixels", "N", "most pixels"),
        .value("max-age", "TIME", "age"),
        .value("progress", "WHEN", "when", choices: ["auto", "always", "never"]),
        .flag("quiet", short: "q", "quiet"), .flag("verbose", short: "v", "verbose"), .flag("json", "json"),
        .flag("help", short: "h", "help"),
    ]

    private func parse(_ arguments: String..., environment: [String: String] = [:]) throws -> Arguments {
        try ArgumentParser(options, environment: environment).parse(arguments)
    }

    @Test func takesValuesInEveryForm() throws {
        for arguments in [
            ["-j8"], ["-j", "8"], ["--parallel-max", "8"], ["--parallel-max=8"], ["-qj8"], ["-qvj", "8"],
        ] {
            let parsed = try ArgumentParser(options).parse(arguments)
            #expect(try parsed.integer("parallel-max", in: 1...100) == 8, "\(arguments)")
            #expect(parsed.operands.isEmpty)
        }
    }

    @Test func groupsShortFlags() throws {
        let parsed = try parse("-qv", "a")
        #expect(try parsed.flag("quiet") && parsed.flag("verbose"))
        #expect(try !parsed.flag("json"))
        #expect(parsed.operands == ["a"])
    }

    @Test func endsOptionsAtTwoDashes() throws {
        let parsed = try parse("-q", "--", "-v", "--size", "--")
        #expect(parsed.operands == ["-v", "--size", "--"])
        #expect(try !parsed.flag("verbose"))
    }

    @Test func keepsOneDashAsAnOperandAndAsAValue() throws {
        #expect(try parse("-").operands == ["-"])
        #expect(try parse("-s", "-").strings("size") == ["-"])
    }

    @Test func repeatsWhatMayBeRepeatedAndTakesTheLastOfTheRest() throws {
        let parsed = try parse("-s", "256", "--size=128x128>", "-j4", "-j5")
        #expect(try parsed.strings("size") == ["256", "128x128>"])
        #expect(try parsed.integer("parallel-max", in: 1...9) == 5)
    }

    @Test func keepsEqualSignsInValues() throws {
        #expect(try parse("--size=a=b").strings("size") == ["a=b"])
    }

    @Test(arguments: [
        ("--paralel-max", "--parallel-max"), ("--quite", "--quiet"), ("--max-filsize", "--max-filesize"),
        ("--verbos", "--verbose"), ("--parallel", "--parallel-max"),
    ])
    func suggestsTheNearestOption(given: String, meant: String) {
        #expect(throws: UsageError("there is no option \(given)", hint: "Did you mean \(meant)?")) { try parse(given) }
    }

    @Test func suggestsNothingWhereNothingIsNear() {
        #expect(throws: UsageError("there is no option --zzzzzzz")) { try parse("--zzzzzzz") }
        #expect(throws: UsageError("there is no option -x")) { try parse("-qx") }
    }

    @Test func refusesMissingAndForbiddenValues() {
        #expect(throws: UsageError("--size wants a value: --size SIZE")) { try parse("--size") }
        #expect(throws: UsageError("-s wants a value: -s SIZE")) { try parse("-s") }
        #expect(throws: UsageError("--json takes no value")) { try parse("--json=1") }
        #expect(throws: UsageError.self) { try parse("--progress", "sometimes") }
    }

    @Test(arguments: [("50M", 50 << 20), ("500k", 500 << 10), ("2G", 2 << 30), ("1.5K", 1536), ("17", 17), ("0", 0)])
    func readsSizes(text: String, bytes: Int) throws {
        #expect(try parse("--max-filesize", text).bytes("max-filesize") == bytes)
    }

    @Test func countsInThousands() throws {
        #expect(try parse("--max-pixels", "100M").count("max-pixels") == 100_000_000)
    }

    @Test(arguments: [("7d", 604_800), ("12h", 43_200), ("30m", 1800), ("45s", 45), ("0.5", 0.5), ("2w", 1_209_600)])
    func readsTimes(text: String, seconds: Double) throws {
        #expect(try parse("--max-age", text).duration("max-age") == seconds)
    }

    @Test(arguments: ["", "x", "-1", "5Q", "nan", "inf", "1e400", "9999999999999999999G"])
    func refusesWhatIsNoNumber(text: String) throws {
        let parsed = try parse("--max-filesize", text, "--max-age", text, "-j", text, "--max-pixels", text)
        #expect(throws: UsageError.self) { try parsed.bytes("max-filesize") }
        #expect(throws: UsageError.self) { try parsed.duration("max-age") }
        #expect(throws: UsageError.self) { try parsed.integer("parallel-max", in: 1...64) }
        #expect(throws: UsageError.self) { try parsed.count("max-pixels") }
    }

    @Test func takesTheEnvironmentWhereNothingIsGiven() throws {
        let environment = ["LARDER_MAX_AGE": "1h", "LARDER_QUIET": "1", "LARDER_JSON": "0", "LARDER_SIZE": "64"]
        let parsed = try parse("--size", "32", environment: environment)
        #expect(try parsed.duration("max-age") == 3600)
        #expect(try parsed.flag("quiet"))
        #expect(try !parsed.flag("json"))
        #expect(try parsed.strings("size") == ["32"])
    }

    @Test func namesTheVariableThatIsWrong() throws {
        let parsed = try parse(environment: ["LARDER_MAX_AGE": "soon", "LARDER_PROGRESS": "x"])
        #expect(
            throws: UsageError(
                "LARDER_MAX_AGE in the environment cannot be 'soon'",
                hint: "It wants a time, such as 45s, 30m, 12h or 7d.")
        ) { try parsed.duration("max-age") }
        #expect(throws: UsageError.self) { try parsed.string("progress") }
    }

    @Test func takesAllAsHelpsOnlyValue() throws {
        #expect(try parse("--help", "all").string("help") == "all")
        #expect(try parse("--help=all").string("help") == "all")
        #expect(try parse("--help", "b").string("help") == "")
        #expect(try parse("-h").string("help") == "")
        #expect(try parse("-q").string("help") == nil)
    }
}
