import Foundation
import Larder
import Synchronization

/// Worker processes that run rows, and the care for those that die.
///
/// A row is one line in and one line out. At most `credits` rows are outstanding in a worker. A worker that dies
/// costs no other row: what it had in hand is tried again one by one in a fresh worker set apart, and only a row
/// that kills its worker twice while it is alone there ends as crashed. Safe from any thread.
package final class WorkerPool: Sendable {
    /// How the pool works.
    package struct Configuration: Sendable {
        /// The program and its arguments that make a worker of it.
        package var executable: String
        package var arguments: [String]
        package var environment: [String: String]
        /// The line that a worker is sent before its first row.
        package var setup: [UInt8]
        /// How many workers, at least 1.
        package var workers: Int
        /// Rows outstanding in one worker, at least 1.
        package var credits: Int
        /// Seconds that a worker may take to say hello. 10 by default.
        package var helloDeadline: Double
        /// Seconds after which a worker that has rows in hand and answers none is ended: more than any row takes.
        package var silence: Double

        package init(
            executable: String, arguments: [String], environment: [String: String], setup: [UInt8], workers: Int,
            credits: Int, silence: Double, helloDeadline: Double = 10
        ) {
            self.executable = executable
            self.arguments = arguments
            self.environment = environment
            self.setup = setup
            self.workers = max(1, workers)
            self.credits = max(1, credits)
            self.silence = silence
            self.helloDeadline = helloDeadline
        }
    }

    /// What became of a row.
    package enum Reply: Sendable, Equatable {
        /// The worker's line.
        case line([UInt8])
        /// The row ends its workers, or leaves them silent: how the last of so many did.
        case crashed(Death, workers: Int)
        /// No worker can be started; the reason.
        case unavailable(String)
        /// The caller was cancelled, or the pool stopped, before it began.
        case cancelled
    }

    /// How a worker was lost.
    package enum Death: Sendable, Equatable {
        case exit
        case signal(Int32)
        /// It answered nothing any more, and was ended.
        case silence
    }

    private let configuration: Configuration
    /// Rows that have come so far: the number of the last.
    private let count = Atomic(0)
    private let roster: Lock<WorkerRoster>

    /// Workers are started when the first row comes.
    package init(_ configuration: Configuration) {
        _ = Self.brokenPipesAreErrors
        self.configuration = configuration
        roster = Lock(WorkerRoster(workers: configuration.workers, credits: configuration.credits))
    }

    // Writing to a worker that has just died would end this process.
    private static let brokenPipesAreErrors: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

    deinit { for process in roster.withLock({ $0.processes }) { process.closeInput() } }

    /// Runs a row. `makeLine` makes its line, which begins with `{"row":N`, for the number that it is given: the
    /// pool's own, because two rows of one number would be taken for each other.
    package func run(_ makeLine: (Int) -> [UInt8]) async -> Reply {
        let row = count.add(1, ordering: .relaxed).newValue
        let line = makeLine(row)
        guard WorkerLine.row(of: line) == row, line.count < WorkerLine.maxLength else {
            return .unavailable("the row's line is malformed or longer than \(WorkerLine.maxLength) bytes")
        }
        return await withTaskCancellationHandler {
            await withHandover { continuation in
                let (refusal, steps) = roster.withLock {
                    ($0.add(WorkerRoster.Job(row: row, line: line, continuation: continuation)), $0.takeSteps())
                }
                if let refusal { continuation.resume(returning: refusal) }
                follow(steps)
                // Cancelled before it was there to be found.
                if Task.isCancelled { giveUp(row) }
            }
        } onCancel: {
            giveUp(row)
        }
    }

    private func giveUp(_ row: Int) {
        switch roster.withLock({ $0.cancel(row) }) {
        case .dropped(let job): job.continuation.resume(returning: .cancelled)
        case .running(let process): process.write(WorkerLine.cancel(row: row))
        case .unknown: break
        }
    }

    /// The processes that live now.
    package var processIDs: [Int32] { roster.withLock { $0.processes.map(\.pid) } }

    /// How often a worker has died of itself.
    package var deaths: Int { roster.withLock { $0.deaths } }

    /// Ends the workers: rows that wait are cancelled; those under way are given up by their workers and answered.
    /// Returns when every process has gone; one that lingers is killed after `grace` seconds.
    package func stop(grace: Double = 2) async {
        let (waiting, processes) = roster.withLock { $0.stop() }
        for job in waiting { job.continuation.resume(returning: .cancelled) }
        for process in processes { process.closeInput() }
        let end = Task {
            try await SystemTime().sleep(seconds: grace)
            for process in roster.withLock({ $0.processes }) { process.kill() }
        }
        await withHandover { continuation in
            if roster.withLock({ $0.whenEmpty(continuation) }) { continuation.resume() }
        }
        end.cancel()
    }

    /// Starts the workers that are wanted and hands rows to those that have credit.
    private func advance() { follow(roster.withLock { $0.takeSteps() }) }

    private func follow(_ steps: WorkerRoster.Steps) {
        for slot in steps.starts {
            let thread = Thread { [weak self, configuration] in Self.supervise(slot, configuration) { self } }
            thread.name = "larder-worker-\(slot)"
            thread.start()
        }
        for (process, line) in steps.sends { process.write(line) }
    }

    /// Takes what a worker has answered, and hands it more.
    private func finish(_ lines: some Sequence<[UInt8]>, in slot: Int) {
        let (finished, steps) = roster.withLock { roster in
            let finished = lines.compactMap { line in
                WorkerLine.row(of: line).flatMap { roster.finished($0, in: slot) }.map { ($0, line) }
            }
            return (finished, roster.takeSteps())
        }
        follow(steps)
        for (job, line) in finished { job.continuation.resume(returning: .line(line)) }
    }

    /// The life of one slot: starts its worker again and again until the pool has stopped or no work is left for it.
    private static func supervise(_ slot: Int, _ configuration: Configuration, pool: @escaping () -> WorkerPool?) {
        var failures = 0
        while true {
            var failure: String?
            do throws(WorkerProcess.StartError) {
                let process = try WorkerProcess(
                    .init(
                        executable: configuration.executable, arguments: configuration.arguments,
                        environment: configuration.environment))
                var greeted = false
                let deadline = DispatchWorkItem { process.kill() }
                DispatchQueue.global().asyncAfter(deadline: .now() + configuration.helloDeadline, execute: deadline)
                defer { deadline.cancel() }
                let tick = configuration.silence / Double(WorkerRoster.maxSilentTicks)
                let status = process.read(tick: tick) {
                    if pool()?.roster.withLock({ $0.isStuck(slot) }) == true { process.kill() }
                } take: { lines in
                    var lines = lines[...]
                    if !greeted {
                        // Anything but our hello is another version or another program: its output is not for us.
                        guard lines.popFirst() == WorkerLine.hello else { return process.kill() }
                        greeted = true
                        deadline.cancel()
                        process.write(configuration.setup)
                        guard let pool = pool(), pool.roster.withLock({ $0.started(slot, process) }) else {
                            return process.closeInput()
                        }
                        pool.advance()
                    }
                    pool()?.finish(lines, in: slot)
                }
                if !greeted { failure = "it ended before it said hello (\(ProcessEnd(status: status)))" }
                if let pool = pool() {
                    for (job, reply) in pool.roster.withLock({ $0.ended(slot, ProcessEnd(status: status)) }) {
                        job.continuation.resume(returning: reply)
                    }
                    pool.advance()
                }
            } catch {
                switch error {
                case .system(let code, let what): failure = "\(what): \(String(cString: strerror(code)))"
                }
            }
            failures = failure == nil ? 0 : failures + 1
            guard let pool = pool() else { return }
            if let failure, failures >= 3 {
                for job in pool.roster.withLock({ $0.fail(slot) }) {
                    job.continuation.resume(returning: .unavailable("a worker cannot be started: " + failure))
                }
            }
            guard pool.roster.withLock({ $0.startAgain(slot) }) else {
                pool.roster.withLock { $0.takeEmptied() }?.resume()
                return
            }
            if failure != nil { usleep(UInt32(50_000 * failures)) }
        }
    }
}
