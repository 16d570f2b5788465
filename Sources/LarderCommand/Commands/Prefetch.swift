import Foundation
import Larder
import LarderPrefetch
import LarderWorkers

extension Command {
    static let prefetch = Command(
        name: "prefetch", summary: "download and cache every image of a manifest", operands: "MANIFEST|-|URL",
        examples: [
            ("larder prefetch urls.txt", "a URL a line"),
            (
                "larder prefetch items.csv --url-col image -s 256 --report r.jsonl",
                "a table, with thumbnails and a report"
            ),
            ("cat urls.txt | larder prefetch - --report - > r.jsonl", "in a pipe"),
        ],
        options: PrefetchCommand.options + LoadingOptions.table,
        details: [
            "The manifest is `.txt` (a URL a line; `#` begins a comment line), `.csv` or `.tsv` (with a header row), "
                + "`.json` (a list of strings or objects), `.jsonl` or `.ndjson`, each also `.gz`; or `-` for standard "
                + "input; or an http(s) URL. It is read as a stream. Columns or keys are `url`, `id`, `sha256`, `sizes` "
                + "(separated by spaces) and `priority`; others come back in the report's `input`. A record that cannot "
                + "be used fails as `bad_row`; a record of 1,000,000 bytes or more is one of these. A manifest that breaks off "
                + "is done up to there, and the exit status is 2.",
            "Credentials among `-H` (`Authorization`, `Cookie`, keys and tokens) are sent to every host of a manifest that "
                + "is a file; where it is a URL, to its own origin alone.",
            "The report has one JSON object a line for each row, as rows are done or, with `--ordered`, in the "
                + "manifest's order. A URL that repeats is fetched once; its other rows carry `duplicate_of` and come "
                + "`from` the disk. `bytes` of the summary are those of the images that came from the network.",
            "`--export` names a file by the row's `id`, else by its URL; each row has its file, one that repeats a URL "
                + "too. Of several rows with one `id` the last to be done keeps the file.",
            "`--report` replaces its file once the first row is done: a manifest that cannot be read costs no earlier "
                + "report. `--retry-failed` asks for what failed even where the failure is remembered, and leaves a last line "
                + "out that is cut off. `--dry-run` makes no directory and no file.",
            "Where there are thumbnails, a line also has `thumbhash` (the picture in some 25 bytes, base64, to be shown "
                + "until it is there) and `color` (that of which it has most, as CSS writes it).",
            "The line of a failure repeats what the record asked for, `\"wanted\":{\"sha256\":…,\"priority\":…,"
                + "\"sizes\":[…]}`, as far as it did: with it, `--retry-failed REPORT` needs no manifest. Without a "
                + "manifest, a `bad_row` stays one, and so does a `hash_mismatch` whose line has no `wanted`.",
            "A row is a success when its image is in the cache, or when its server forbids to keep it (`no-store`; such a "
                + "row has no `file`). Where the cache cannot take an image, the row fails as `cache_unavailable`, and a "
                + "directory that cannot be written is exit status 2 at once. Where `--max-size` or a full disk makes images "
                + "of the run leave the cache again, the summary counts them (`evicted`) and the exit status is 1. With "
                + "`--export` the images are kept there, and the cache need not hold them.",
            "Ctrl-C or SIGTERM completes report and summary: rows under way are `cancelled`, rows that had not begun "
                + "are absent. A second Ctrl-C ends at once. Running the same command again fetches what is missing.",
            "A host that answers nothing and lets three requests time out is given up for 30 seconds: its rows fail as "
                + "`timed_out` without being tried.",
        ],
        run: { arguments, console in try await PrefetchCommand(arguments, console).run() })
}

/// `larder prefetch`.
struct PrefetchCommand: Sendable {
    static let options: [Option] = [
        .value(
            "size", short: "s", "SIZE", "also make thumbnails: 256, 256x256, x128, and > < !", repeatable: true,
            common: true),
        .flag("crop", "fill the box of --size and cut the rest"),
        .value("format", "NAME", "of thumbnails", default: "jpeg, png with alpha", choices: ["jpeg", "png"]),
        .value("quality", "N", "of JPEG thumbnails", default: "85"),
        .value("parallel-max", short: "j", "N", "transfers at once", default: "16", common: true),
        .value("per-host", "N", "images under way at once to one host", default: "6"),
        .value(
            "workers", "N", "worker processes; 0 works in this one",
            default: "one for 4 images under way; 0 with curl"),
        .value(
            "report", "FILE|-", "write a JSON line for each row", common: true, completion: .file),
        .flag("ordered", "report rows in the manifest's order"),
        .value(
            "manifest-format", "NAME", "where the name does not tell", choices: ManifestFormat.allCases.map(\.rawValue)),
        .value("url-col", "NAME", "the column or key with the URL", default: "url", common: true),
        .value("items-path", "A.B", "where the list is inside a JSON object"),
        .value("max-pages", "N", "pages of a manifest on the web", default: "1000"),
        .value("export", "DIR", "also write images or thumbnails as plain files", completion: .directory),
        .value("min-width", "N", "skip narrower images"),
        .value("min-height", "N", "skip lower images"),
        .value("max-aspect-ratio", "X", "skip longer images"),
        .value("format-allow", "NAME", "skip images of other formats", repeatable: true),
        .value("retry-failed", "REPORT", "only the failed rows of a report", common: true, completion: .file),
        .value("shard", "I/N", "only each N-th row, beginning with the I-th"),
        .flag("dry-run", "count rows, hosts, repetitions and what is cached", common: true),
        .flag("fail-early", "stop at the first failure"),
        .flag("no-sync", "do not wait at the end until the disk has everything"),
        .flag("exit-zero", "exit status 0 although images failed"),
        .value(
            "progress", "WHEN", "auto, always or never", default: "auto", choices: ["auto", "always", "never"]),
    ]

    private let arguments: Arguments
    private let console: Console
    private let loading: LoadingOptions
    private let manifest: String?
    private let isQuiet: Bool
    private let isJSON: Bool
    private let reportPath: String?

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        loading = try LoadingOptions(arguments)
        isQuiet = try arguments.flag("quiet")
        isJSON = try arguments.flag("json")
        reportPath = try arguments.string("report")
        guard arguments.operands.count <= 1 else {
            throw UsageError(
                "prefetch wants one manifest, not \(arguments.operands.count)",
                hint: "To load a few URLs: larder get \(arguments.operands[0]) …")
        }
        manifest = arguments.operands.first
        let retries = try arguments.string("retry-failed")
        if manifest == nil, retries == nil {
            throw UsageError("prefetch wants a manifest", hint: "larder prefetch urls.txt, or - for standard input")
        }
    }

    func run() async throws -> ExitStatus {
        let source = try makeSource()
        let mode = ProgressDisplay.mode(try arguments.string("progress") ?? "auto", quiet: isQuiet, console)
        if try arguments.flag("dry-run") { return try await survey(source) }
        let work = try RowWork(arguments, loading, try jobConfiguration(), console)
        let report = try makeReport()
        let job = PrefetchJob(source, runner: work.runner, report: report, configuration: work.job)
        let display = ProgressDisplay(mode, console)
        let signals = SignalWatch { job.stop() }
        let showing = Task { await display.run { (job.tally, job.underWay) } }
        let counting = countRows(for: display)
        let outcome = await job.run()
        counting?.stop()
        showing.cancel()
        await showing.value
        var summary = Summary(outcome)
        summary.evicted = await work.finish(outcome)
        if let omission = source.omission { console.say(omission) }
        return try conclude(outcome, summary, signals.status)
    }

    // MARK: Before

    private func jobConfiguration() throws(UsageError) -> PrefetchJob.Configuration {
        var configuration = PrefetchJob.Configuration()
        configuration.parallel = try arguments.integer("parallel-max", in: 1...1024) ?? configuration.parallel
        // Those that only wait for a host that never answers take no place of the others.
        configuration.most = configuration.parallel * 4
        configuration.perHost = try arguments.integer("per-host", in: 1...1024) ?? configuration.perHost
        configuration.isOrdered = try arguments.flag("ordered")
        configuration.failsEarly = try arguments.flag("fail-early")
        return configuration
    }

    private func manifestOptions() throws(UsageError) -> ManifestOptions {
        var options = ManifestOptions()
        options.format = try arguments.string("manifest-format").flatMap { ManifestFormat(rawValue: $0) }
        options.urlColumn = try arguments.string("url-col") ?? options.urlColumn
        options.itemsPath = try arguments.string("items-path")?.split(separator: ".").map(String.init) ?? []
        return options
    }

    private func makeSource() throws -> any RowSource {
        let shard = try shard()
        var source: any RowSource
        if let path = try arguments.string("retry-failed") {
            let failed = FailedRows(try reading(path) { () throws(ManifestError) in try FileSource(path: path) })
            if let manifest {
                let numbers = try reading(path) { () throws(ManifestError) in try failed.numbers() }
                source = RowSelection(try open(manifest)) { numbers.containsSorted($0.number) }
            } else {
                source = failed
            }
        } else {
            source = try open(manifest ?? "-")
        }
        if let (index, count) = shard { source = RowSelection(source, shard: index, of: count) }
        return source
    }

    private func open(_ manifest: String) throws -> any RowSource {
        let options = try manifestOptions()
        guard ManifestEndpoint.isAddress(manifest) else {
            return try reading(manifest) { () throws(ManifestError) in
                try ManifestReader(path: manifest, options: options)
            }
        }
        guard let url = ManifestEndpoint(manifest)?.url else {
            throw UsageError(
                "a manifest cannot be fetched from \(manifest)",
                hint: "It is a file, - for standard input, or an http or https URL with a host.")
        }
        var configuration = RemoteManifest.Configuration()
        configuration.fields = loading.connection.fields
        configuration.deadlines = loading.connection.deadlines
        // --max-time is for an image: a long list takes as long as its bytes go on coming.
        configuration.deadlines.total = 86_400
        configuration.retries = loading.retries
        configuration.retryDelay = loading.retryDelay
        configuration.maxPages = try arguments.integer("max-pages", in: 1...1_000_000) ?? configuration.maxPages
        return RemoteManifest(url, client: loading.connection.client, configuration: configuration, options: options)
    }

    private func shard() throws(UsageError) -> (Int, Int)? {
        guard let text = try arguments.string("shard") else { return nil }
        let parts = text.split(separator: "/").map { Int($0) }
        guard parts.count == 2, let index = parts[0], let count = parts[1], count >= 1, (1...count).contains(index)
        else {
            throw UsageError("--shard cannot be '\(text)'", hint: "It wants I/N, such as 1/4 to 4/4.")
        }
        return (index, count)
    }

    private func makeReport() throws -> ReportWriter? {
        guard let path = reportPath else { return nil }
        if path == "-" { return ReportWriter(descriptor: 1) }
        try checkReport(path)
        do throws(ReportWriter.Failure) { return try ReportWriter(path: path) } catch {
            throw CommandFailure("the report \(path) cannot be written: \(error.reason)")
        }
    }

    /// The report is no file that is read meanwhile.
    private func checkReport(_ path: String) throws {
        for (read, name) in [(try arguments.string("retry-failed"), "--retry-failed"), (manifest, "the manifest")] {
            guard let read, FileManager.default.isSameFile(read, path) else { continue }
            throw UsageError(
                "\(name) and --report name the same file, \(path)", hint: "Write the report to another one.")
        }
    }

    /// Counts a file's rows beside the job, so that the line can say how far it is.
    private func countRows(for display: ProgressDisplay) -> ManifestReader? {
        guard display.isShown, let manifest, FileManager.default.isRegularFile(manifest),
            (try? arguments.string("retry-failed")) == .some(nil), (try? arguments.string("shard")) == .some(nil),
            let options = try? manifestOptions(), let reader = try? ManifestReader(path: manifest, options: options)
        else { return nil }
        let executor = BlockingExecutor(name: "larder-count", width: 1)
        Task {
            let rows = await executor.perform { () -> Int? in
                var rows = 0
                while true {
                    guard let more = try? reader.next(1000) else { return nil }
                    if more.isEmpty { return rows }
                    rows += more.count
                }
            }
            if let rows { display.expect(rows) }
        }
        return reader
    }

    private func reading<Result>(
        _ name: String, _ body: () throws(ManifestError) -> Result
    ) throws(CommandFailure) -> Result {
        do throws(ManifestError) { return try body() } catch { throw Self.failure(name, error) }
    }

    private static func failure(_ name: String, _ error: ManifestError) -> CommandFailure {
        let shown = name == "-" ? "standard input" : name
        return switch error {
        case .unreadable: CommandFailure("\(shown) cannot be read: \(error.message)")
        case .notFetched: CommandFailure("\(shown) cannot be fetched: \(error.message)")
        case .malformed: CommandFailure("\(shown): \(error.message)")
        case .stopped: CommandFailure("\(shown): \(error.message)")
        }
    }

    // MARK: After

    private func survey(_ source: any RowSource) async throws -> ExitStatus {
        if let path = reportPath, path != "-" {
            try checkReport(path)
            let folder = (path as NSString).deletingLastPathComponent
            let target = FileManager.default.fileExists(atPath: path) ? path : folder.isEmpty ? "." : folder
            guard access(target, W_OK) == 0 else {
                throw CommandFailure("the report \(path) cannot be written: \(String(cString: strerror(errno)))")
            }
        }
        let runner = try RowWork.looking(arguments, loading, console)
        let survey: Survey
        do throws(ManifestError) { survey = try await Survey.run(source, runner: runner) } catch {
            throw Self.failure(manifest ?? "the report", error)
        }
        if let omission = source.omission { console.say(omission) }
        if isJSON { try console.out(survey.json) } else { try console.print(survey.text.joined(separator: "\n")) }
        return .success
    }

    private func conclude(
        _ outcome: PrefetchJob.Outcome, _ summary: Summary, _ signal: ExitStatus?
    ) throws -> ExitStatus {
        switch outcome.stop {
        // The images that were fetched stay, and how that went is said and told.
        case .report(let failure) where failure != .readerGone:
            throw CommandFailure("the report \(reportPath ?? "") cannot be written: \(failure.reason)")
        default: break
        }
        do { try show(summary, isInterrupted: outcome.stop == .interrupted) } catch let error as Console.OutputFailure
            where error.isReaderGone
        {}
        if case .manifest(let error) = outcome.stop { throw Self.failure(manifest ?? "the report", error) }
        if outcome.stop == .interrupted { return signal ?? .interrupted }
        if try arguments.flag("exit-zero") { return .success }
        return ExitStatus(rawValue: summary.exitStatus) ?? .someFailed
    }

    private func show(_ summary: Summary, isInterrupted: Bool) throws {
        if isJSON { return reportPath == "-" ? console.err(summary.json) : try console.out(summary.json) }
        guard !isQuiet else { return }
        var lines = summary.text(in: console.language) { text, style in
            let styles: [String: Console.Style] = ["red": .red, "green": .green, "dim": .dim]
            return console.paint(text, styles[style] ?? .bold, on: console.errIsTerminal)
        }
        if try arguments.flag("verbose"), !summary.slowest.isEmpty { lines += ["Slowest hosts"] + summary.slowestHosts }
        let cache = try arguments.string("cache") ?? "cache"
        if isInterrupted {
            lines.append("Go on with:          " + (try sameCommand(refreshes: true)))
        } else if summary.tally.failure > summary.tally.filtered {
            lines.append("Try the rest again:  " + (try retryCommand()))
        }
        if summary.tally.success > 0 {
            lines.append("See what is there:   \(quoted(console.program)) serve \(quoted(cache))")
        }
        console.note(lines.joined(separator: "\n"))
    }

    /// What fetches the rows that failed: they are in the report, or else found out by the same command.
    private func retryCommand() throws -> String {
        guard let reportPath, reportPath != "-" else { return try sameCommand(refreshes: false) }
        var words = [console.program, "prefetch"]
        if let manifest, manifest != "-" { words.append(shown(manifest)) }
        words += ["--retry-failed", reportPath]
        words += arguments.spoken(except: ["report", "retry-failed", "shard", "json", "quiet", "verbose", "progress"])
        return words.map(quoted).joined(separator: " ")
    }

    /// What does all again but for what is in the cache by now.
    ///
    /// - Parameter refreshes: whether what is there is fetched anew, where that was asked for.
    private func sameCommand(refreshes: Bool) throws -> String {
        let words =
            [console.program, "prefetch"] + (manifest.map { [shown($0)] } ?? [])
            + arguments.spoken(except: Set(["json", "quiet", "verbose", "progress"] + (refreshes ? [] : ["refresh"])))
        return words.map(quoted).joined(separator: " ")
    }

    private func shown(_ manifest: String) -> String {
        ManifestEndpoint.isAddress(manifest) ? Arguments.withoutUserInfo(manifest) : manifest
    }

    private func quoted(_ word: String) -> String {
        let plain = word.allSatisfy { $0.isLetter || $0.isNumber || "-_./:=,@%+".contains($0) }
        return plain && !word.isEmpty ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}

extension ReportWriter.Failure {
    var reason: String {
        switch self {
        case .readerGone: "its reader has gone"
        case .unwritable(let reason): reason
        }
    }
}

extension FileManager {
    fileprivate func isRegularFile(_ path: String) -> Bool {
        (try? attributesOfItem(atPath: path)[.type] as? FileAttributeType) == .typeRegular
    }

    /// Whether both paths lead to one regular file.
    fileprivate func isSameFile(_ first: String, _ second: String) -> Bool {
        var (one, other) = (stat(), stat())
        guard stat(first, &one) == 0, stat(second, &other) == 0, one.st_mode & S_IFMT == S_IFREG else { return false }
        return one.st_dev == other.st_dev && one.st_ino == other.st_ino
    }
}
