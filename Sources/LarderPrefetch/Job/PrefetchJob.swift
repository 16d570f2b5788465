import Larder
import LarderWorkers

/// Runs every row of a source and reports each exactly once.
///
/// Memory is bounded by the window of rows that are begun and not reported yet, whatever the manifest's length;
/// only 20 bytes a row are kept of what was seen, and 8 of each image's file. Rows that the cache can answer pass
/// through at once; the others wait for their host's turn. Safe from any thread; one job runs once.
package final class PrefetchJob: Sendable {
    package struct Configuration: Sendable {
        /// Rows under way at once. 16 by default.
        package var parallel = 16
        /// Rows under way at once in all, with those that wait for a host that never answers. As `parallel` by default.
        package var most = 16
        /// Rows under way at once to one host. 6 by default.
        package var perHost = 6
        /// Rows read ahead of the slowest. 65,536 by default.
        package var window = 65_536
        /// Bytes of rows read ahead. 32 MiB by default.
        package var windowBytes = 32 << 20
        /// Rows looked up in the cache at once. 256 by default.
        package var batch = 256
        /// Batches looked up at the same time. 2 by default.
        package var lookups = 2
        /// Report in the manifest's order.
        package var isOrdered = false
        /// Stop at the first failure.
        package var failsEarly = false
        /// Seconds that cancelled rows are given to answer.
        package var grace = 0.5

        package init() {}
    }

    /// Why a job ended before its manifest did.
    package enum Stop: Sendable, Equatable {
        /// A signal or another call from outside.
        case interrupted
        /// A row failed, and that was to be the end.
        case failedEarly
        case manifest(ManifestError)
        case report(ReportWriter.Failure)
    }

    /// How the job ended.
    package struct Outcome: Sendable {
        package var tally: Tally
        /// nil where the manifest was done to its end.
        package var stop: Stop?
        package var seconds: Double
        package var hostTimes: HostTimes
        package var kept = KeptFiles()
    }

    /// A row on its way through the job.
    struct Item: Sendable {
        var row: Row
        /// Counts the rows of this job from 0.
        var sequence: Int
        var identity: RowIdentity?
        /// The row that this one repeats.
        var duplicateOf: Int?
        var host: String { identity?.host ?? "" }
        var weight: Int { 256 + row.url.utf8.count + row.input.count }
    }

    private let source: any RowSource
    private let runner: any RowRunner
    private let report: ReportWriter?
    private let configuration: Configuration
    private let time: any TimeSource
    private let log = OutcomeLog()
    private let state: Watched<JobState>
    /// Blocking work: the manifest, and the log of results.
    private let reading = BlockingExecutor(name: "larder-manifest", width: 1)
    private let logging = BlockingExecutor(name: "larder-log", width: 1)

    package init(
        _ source: any RowSource, runner: any RowRunner, report: ReportWriter? = nil,
        configuration: Configuration = .init(), time: any TimeSource = SystemTime()
    ) {
        self.source = source
        self.runner = runner
        self.report = report
        self.configuration = configuration
        self.time = time
        state = Watched(JobState(configuration, exportsRows: runner.exportsRows, begin: time.monotonic))
    }

    /// What was done so far.
    package var tally: Tally { state.read(\.tally) }

    /// Rows that are under way now.
    package var underWay: Int { state.read(\.schedule.underWay) }

    /// Ends the job soon: rows that are under way are reported as cancelled, those that have not begun are not
    /// reported at all.
    package func stop() { stop(.interrupted) }

    /// Runs the job to its end.
    package func run() async -> Outcome {
        // Rows that wait for silent hosts leave their place to others as time goes by.
        let ticker = Task { [weak self, time] in
            while true {
                try await time.sleep(seconds: Schedule.patience)
                self?.pump()
            }
        }
        let reader = Task { await readAll() }
        await state.wait { $0.isIdle || $0.stop != nil }
        if state.read({ $0.stop != nil }) { await cancelTheRest() }
        ticker.cancel()
        reader.cancel()
        state.update { state in
            let lines = state.close()
            report?.append(lines)
        }
        if let report {
            // A manifest that could not be read at all costs no report of an earlier run.
            let replaces = state.read { state in
                if case .manifest? = state.stop { state.tally.total > 0 } else { true }
            }
            do throws(ReportWriter.Failure) { try await report.finish(replaces: replaces) } catch {
                stop(.report(error))
            }
        }
        let end = time.monotonic
        return state.read {
            Outcome(
                tally: $0.tally, stop: $0.stop, seconds: Double(end - $0.begin) / 1e9, hostTimes: $0.hostTimes,
                kept: $0.kept)
        }
    }

    private var now: Double { Double(time.monotonic) / 1e9 }

    // MARK: Reading

    private func readAll() async {
        while true {
            await state.wait { [lookups = configuration.lookups] in $0.stop != nil || $0.hasRoom && $0.lookups < lookups
            }
            do throws(ReportWriter.Failure) { try await report?.ready() } catch { stop(.report(error)) }
            guard state.read({ $0.stop == nil }) else { break }
            switch await reading.perform({ [self] in readBatch() }) {
            case .failure(.stopped): stop(.interrupted)
            case .failure(let error): stop(.manifest(error))
            case .success(let work?): lookUp(work)
            case .success(nil): return state.update { $0.isRead = true }
            }
        }
    }

    /// Reads rows, finds the repetitions among them, and reports those whose result is known. nil at the end.
    private func readBatch() -> Result<[Item]?, ManifestError> {
        let rows: [Row]
        do throws(ManifestError) { rows = try source.next(configuration.batch) } catch { return .failure(error) }
        if rows.isEmpty { return .success(nil) }
        let named = rows.map { ($0, $0.problem == nil ? runner.identity(of: $0) : nil) }
        var admission = state.update { state in
            state.lookups += 1
            return state.admit(named)
        }
        var finished: [JobState.Finished] = []
        var repetitions: [Item] = []
        for (item, place) in admission.logged {
            if let result = log.read(place) {
                if state.read({ $0.hasMore(result) }) {
                    repetitions.append(item)
                } else {
                    finished.append(.init(item: item, result: result))
                }
            } else {
                admission.work.append(item)
            }
        }
        finish(finished)
        lookUpAgain(repetitions)
        return .success(admission.work)
    }

    /// Gives rows whose image was stored for another row what they want for themselves.
    private func lookUpAgain(_ items: [Item]) {
        guard !items.isEmpty else { return }
        state.update { $0.lookups += 1 }
        lookUp(items, areRepetitions: true)
    }

    /// Reports what needs no network, and lines the others up.
    private func lookUp(_ items: [Item], areRepetitions: Bool = false) {
        Task { [self] in
            let rows = items.map(\.row)
            let results = areRepetitions ? await runner.answerStored(rows) : await runner.answer(rows)
            var finished: [JobState.Finished] = []
            var waiting: [Item] = []
            for (item, result) in zip(items, results) {
                if let problem = item.row.problem {
                    finished.append(.init(item: item, result: .failure(.badRow(problem))))
                } else if let result {
                    finished.append(.init(item: item, result: result))
                } else {
                    // A repetition that the cache cannot answer is work of its own.
                    var item = item
                    item.duplicateOf = nil
                    waiting.append(item)
                }
            }
            let now = now
            let givenUp = state.update { state in
                state.stop == nil ? waiting.filter { !state.schedule.add($0, now: now) } : []
            }
            finish(finished + givenUp.map { .init(item: $0, result: Self.notTried($0)) })
            state.update { $0.lookups -= 1 }
            pump()
        }
    }

    // MARK: Running

    /// Starts every row that may start.
    ///
    /// - Parameter settled: rows that have been reported since.
    private func pump(settled: Int = 0) {
        let now = now
        let started = state.update { state -> [Item] in
            state.settling -= settled
            var started: [Item] = []
            while state.stop == nil, let item = state.schedule.next(now: now) {
                state.running[item.sequence] = .init(item: item, start: now)
                started.append(item)
            }
            return started
        }
        for item in started {
            // Stopped meanwhile: what has not begun is neither begun nor reported.
            let goesOn = state.update { state in
                if state.stop != nil { state.running[item.sequence] = nil }
                return state.stop == nil
            }
            guard goesOn else { continue }
            let task = Task(executorPreference: runner.executor) { [self] in
                let result = await runner.run(item.row)
                complete(item, result)
            }
            let isCancelled = state.update { state in
                state.running[item.sequence]?.task = task
                return state.stop != nil
            }
            if isCancelled { task.cancel() }
        }
    }

    private func complete(_ item: Item, _ result: RowResult) {
        let now = now
        let dropped = state.update { state -> [Item]? in
            guard let running = state.running.removeValue(forKey: item.sequence) else { return nil }
            state.settling += 1
            state.noteTime(item.host, seconds: now - running.start)
            return state.schedule.finish(item, Self.verdict(result), now: now)
        }
        guard let dropped else { return }
        finish(
            [.init(item: item, result: result)] + dropped.map { .init(item: $0, result: Self.notTried($0)) }
        )
        pump(settled: 1)
    }

    /// Counts and reports rows that are done.
    private func finish(_ rows: [JobState.Finished]) {
        guard !rows.isEmpty else { return }
        var rows = rows
        for at in rows.indices where rows[at].item.duplicateOf == nil && rows[at].item.identity != nil {
            // What came from the disk can be looked up again.
            if case .success(.disk) = rows[at].result.outcome { continue }
            let (place, isFlushDue) = log.append(rows[at].result)
            rows[at].place = place
            if isFlushDue { logging.detach { [log] in log.flush() } }
        }
        let (stopsNow, repetitions) = state.update { state in
            let before = state.stop
            // Inside, so that lines keep their order; the writer only takes them in and calls nobody back.
            let (lines, repetitions) = state.finish(rows, writes: report != nil)
            report?.append(lines)
            return (before == nil && state.stop != nil, repetitions)
        }
        // The caller still counts the rows as looked up or settling: the job is not idle in between.
        lookUpAgain(repetitions)
        if stopsNow { stop(.failedEarly) }
    }

    private static func verdict(_ result: RowResult) -> Schedule.Verdict {
        switch result.code {
        case nil: .answered
        case "timed_out": result.hasStatus ? .answered : .timedOut
        case "unreachable", "cancelled", "worker_crashed", "bad_row", "cache_unavailable", "refused": .unknown
        default: .answered
        }
    }

    private static func notTried(_ item: Item) -> RowResult {
        .failure(
            RowError(
                code: "timed_out", message: ImageError.timedOut(.total, .init()).message(in: .english),
                detail: "not tried: \(item.host) let \(Schedule.probes) requests time out and answered none",
                isRetryable: true))
    }

    // MARK: Stopping

    private func stop(_ reason: Stop) {
        let tasks = state.update { state in
            if state.stop == nil { state.stop = reason }
            state.schedule.clear()
            return state.running.values.compactMap(\.task)
        }
        source.stop()
        for task in tasks { task.cancel() }
    }

    /// Waits a moment for the rows that were cancelled, and reports those that do not answer.
    private func cancelTheRest() async {
        let grace = Task { [time, configuration, state] in
            try await time.sleep(seconds: configuration.grace)
            state.update { $0.isGraceOver = true }
        }
        await state.wait { $0.running.isEmpty || $0.isGraceOver }
        grace.cancel()
        let left = state.update { state in
            defer { state.running = [:] }
            return state.running.values.map(\.item).sorted { $0.sequence < $1.sequence }
        }
        let error = RowError(ImageError.cancelled(.init()))
        finish(left.map { .init(item: $0, result: .failure(error)) })
        // Those that did answer in time are reported in a moment.
        await state.wait { $0.settling == 0 }
    }
}
