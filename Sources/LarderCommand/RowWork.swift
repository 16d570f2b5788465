import Foundation
import Larder
import LarderPrefetch
import LarderWorkers

/// What runs the rows of `prefetch`, made from its options, and what is to be done at its end.
struct RowWork: Sendable {
    let runner: any RowRunner
    /// What the job may have under way.
    let job: PrefetchJob.Configuration
    private let loader: ImageLoader
    private let workers: WorkerRunner?
    private let syncs: Bool
    /// Whether the images are wanted in the cache: those that are exported are kept elsewhere.
    private let keeps: Bool

    init(
        _ arguments: Arguments, _ loading: LoadingOptions, _ job: PrefetchJob.Configuration, _ console: Console
    ) throws {
        syncs = try !arguments.flag("no-sync")
        keeps = try arguments.string("export") == nil
        loader = try Self.loader(arguments, loading, console, parallel: job.most, perHost: job.perHost)
        if keeps { try LoaderSetup.checkThatItKeeps(loader, loading) }
        var job = job
        let local = try LoaderRunner(loader, configuration: Self.configuration(arguments, loading))
        let count = try Self.workers(arguments, loading, job)
        if count > 0 {
            let workers = WorkerRunner(local, pool: try Self.pool(arguments, loading, count))
            self.workers = workers
            runner = workers
        } else {
            workers = nil
            runner = local
            // Here the loader keeps the limits, on transfers alone: a row that is stored or decoded takes no place.
            let beyond = min(job.parallel, 2 * ProcessInfo.processInfo.activeProcessorCount)
            job.parallel += beyond
            job.most += beyond
            job.perHost += beyond
        }
        self.job = job
    }

    /// A runner that only looks what is there: it makes no directory, exports nothing and asks nobody.
    static func looking(
        _ arguments: Arguments, _ loading: LoadingOptions, _ console: Console
    ) throws -> LoaderRunner {
        let loader = try LoaderSetup.loader(
            arguments, loading, console, output: ThumbnailOptions.output(arguments), makesDirectory: false)
        return try LoaderRunner(loader, configuration: configuration(arguments, loading, exports: false))
    }

    /// The runner of a worker process that was set up with these arguments.
    static func worker(_ arguments: Arguments, _ console: Console) throws -> LoaderRunner {
        let loading = try LoadingOptions(arguments)
        // The coordinator keeps the limits of all workers together; here only what one may be handed counts.
        let loader = try loader(
            arguments, loading, console, parallel: credits, perHost: credits, transfers: credits)
        return try LoaderRunner(loader, configuration: configuration(arguments, loading))
    }

    /// After the last row: what was reported as a success survives a power cut from now on.
    ///
    /// - Returns: how many of the job's images had to leave the cache again.
    func finish(_ outcome: PrefetchJob.Outcome) async -> Int {
        await workers?.stop()
        return await BlockingExecutor(name: "larder-close", width: 1).perform { [loader, syncs, keeps] in
            loader.disk?.flush()
            let isInterrupted = outcome.stop == .interrupted
            if syncs, !isInterrupted { loader.disk?.sync() }
            let evicted = keeps ? loader.disk.map { outcome.kept.evicted(from: $0) } ?? 0 : 0
            loader.disk?.close()
            return evicted
        }
    }

    // MARK: Workers

    /// Rows outstanding in one worker: those in transfer, and three times as many that wait for hosts that hang.
    private static let credits = 16
    /// Transfers at once that URLSession bears in one process (Documentation/decisions/urlsession-faults.md).
    private static let transfersPerProcess = 4

    /// As many as the images under way need, but no more than twice the processors. None over libcurl, which needs
    /// no processes to be safe or fast.
    private static func workers(
        _ arguments: Arguments, _ loading: LoadingOptions, _ job: PrefetchJob.Configuration
    ) throws(UsageError) -> Int {
        if let count = try arguments.integer("workers", in: 0...256) { return count }
        if loading.connection.transport == "curl" { return 0 }
        let wanted = (job.parallel + transfersPerProcess - 1) / transfersPerProcess
        return min(wanted, 2 * ProcessInfo.processInfo.activeProcessorCount)
    }

    private static func pool(
        _ arguments: Arguments, _ loading: LoadingOptions, _ count: Int
    ) throws(UsageError) -> WorkerPool {
        // The manifest as well, which says whose the credentials are.
        let words = loading.share(of: try arguments.words, amongWorkers: count) + ["--"] + arguments.operands
        return WorkerCommand.pool(
            words, count: count, credits: credits, deadlines: loading.connection.deadlines,
            isVerbose: try arguments.flag("verbose"))
    }

    // MARK: Parts

    private static func loader(
        _ arguments: Arguments, _ loading: LoadingOptions, _ console: Console, parallel: Int, perHost: Int,
        transfers: Int? = nil
    ) throws -> ImageLoader {
        try LoaderSetup.loader(
            arguments, loading, console, parallel: parallel, perHost: perHost,
            output: ThumbnailOptions.output(arguments), transfers: transfers)
    }

    private static func configuration(
        _ arguments: Arguments, _ loading: LoadingOptions, exports: Bool = true
    ) throws -> LoaderRunner.Configuration {
        var configuration = LoaderRunner.Configuration()
        configuration.sizes = try ThumbnailOptions.sizes(arguments)
        configuration.crops = try arguments.flag("crop")
        configuration.fields = loading.connection.fields
        configuration.credentialOrigin = try credentialOrigin(arguments)
        configuration.policy = try policy(arguments, loading)
        configuration.filter = try filter(arguments)
        if exports, let directory = try arguments.string("export") {
            do throws(ImageError) { configuration.exporter = try RowExporter(directory: directory) } catch {
                throw CommandFailure(error.details.detail)
            }
        }
        return configuration
    }

    /// A list on the web is asked for with what `-H` says; credentials among it are for the list's own origin.
    private static func credentialOrigin(_ arguments: Arguments) throws -> String? {
        guard let manifest = arguments.operands.first, ManifestEndpoint.isAddress(manifest),
            let url = ManifestEndpoint(manifest)?.url
        else { return nil }
        do throws(ImageError) { return try NormalizedURL(url).origin } catch { return nil }
    }

    /// Rows that are tried again are asked for, whatever was remembered of them.
    private static func policy(_ arguments: Arguments, _ loading: LoadingOptions) throws(UsageError) -> CachePolicy {
        guard try arguments.string("retry-failed") != nil, loading.policy == .http else { return loading.policy }
        return .revalidate
    }

    private static func filter(_ arguments: Arguments) throws(UsageError) -> ImageFilter? {
        var filter = ImageFilter()
        filter.minWidth = try arguments.integer("min-width", in: 1...Int.max)
        filter.minHeight = try arguments.integer("min-height", in: 1...Int.max)
        filter.maxAspectRatio = try arguments.number("max-aspect-ratio", in: 1...Double.greatestFiniteMagnitude)
        for name in try arguments.strings("format-allow") {
            guard let format = ImageFormat(rawValue: name) else {
                throw UsageError(
                    "--format-allow cannot be '\(name)'",
                    hint: "It is one of: " + ImageFormat.allCases.map(\.rawValue).joined(separator: ", "))
            }
            filter.formats.insert(format)
        }
        return filter == ImageFilter() ? nil : filter
    }
}
