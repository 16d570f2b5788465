import CPlatform
import Foundation
import Larder

/// The worker's side: reads rows from standard input, runs them at once, and writes a line for each.
package enum WorkerLoop {
    /// How the loop reaches its coordinator: taken before anything else may write to standard output.
    package struct Channel: Sendable {
        let input: Int32
        let output: Int32
        /// Standard error as it was given: for what the worker itself has to say.
        package let log: Int32
    }

    /// Makes this process a worker: it dies with its coordinator, leaves no core file, is limited to `dataBytes` of
    /// data segment, leaves signals from the terminal (a hang-up too: under `nohup` the coordinator lives on) to its
    /// coordinator, and keeps standard output for its lines.
    /// Whatever else is printed goes to standard error, and nowhere unless `isVerbose`: the last words of a process
    /// that a server has ended are of no use to the user, whose report names the row.
    package static func become(isVerbose: Bool = false, dataBytes: UInt64 = 1 << 30) -> Channel? {
        guard larder_become_worker(dataBytes) == 0 else { return nil }
        for number in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { signal(number, SIG_IGN) }
        let output = fcntl(1, F_DUPFD_CLOEXEC, 3)
        let log = fcntl(2, F_DUPFD_CLOEXEC, 3)
        let nowhere = isVerbose ? 2 : open("/dev/null", O_WRONLY | O_CLOEXEC)
        guard output >= 0, log >= 0, nowhere >= 0, dup2(nowhere, 2) == 2, dup2(2, 1) == 1 else { return nil }
        return Channel(input: 0, output: output, log: log)
    }

    /// What runs the rows.
    package struct Handler: Sendable {
        /// Runs a row: its line in, the result's line out. Its task is cancelled when the row is given up.
        let run: @Sendable ([UInt8]) async -> [UInt8]
        /// Where it does best.
        let executor: (any TaskExecutor)?

        package init(on executor: (any TaskExecutor)? = nil, _ run: @escaping @Sendable ([UInt8]) async -> [UInt8]) {
            self.run = run
            self.executor = executor
        }
    }

    /// Runs until the input ends; then gives up what is under way, waits for its lines, and returns.
    ///
    /// - Parameters:
    ///   - prepare: makes the handler from the setup line; nil where the line makes no sense, which ends the loop.
    package static func run(
        _ channel: Channel, prepare: @escaping @Sendable ([UInt8]) -> Handler?
    ) async {
        let writer = LineWriter(channel.output)
        writer.write(WorkerLine.hello)
        let running = Lock<[Int: Task<Void, Never>]>([:])
        await withHandover { (ended: Handover<Void>) in
            let thread = Thread {
                read(LineReader(descriptor: channel.input), prepare, running, writer)
                ended.resume()
            }
            thread.name = "larder-worker-input"
            thread.start()
        }
        let rest = running.withLock { Array($0.values) }
        for task in rest { task.cancel() }
        for task in rest { await task.value }
        await writer.flush()
    }

    /// Begins every row that comes, until the input ends.
    private static func read(
        _ reader: consuming LineReader, _ prepare: ([UInt8]) -> Handler?,
        _ running: Lock<[Int: Task<Void, Never>]>, _ writer: LineWriter
    ) {
        var handler: Handler?
        while let lines = reader.next() {
            for line in lines {
                guard let handler else {
                    handler = prepare(line)
                    if handler == nil { return }
                    continue
                }
                guard let row = WorkerLine.row(of: line) else { continue }
                if WorkerLine.isCancel(line) {
                    running.withLock { $0[row] }?.cancel()
                    continue
                }
                running.withLock { table in
                    table[row] = Task(executorPreference: handler.executor) {
                        let result = await handler.run(line)
                        running.withLock { _ = $0.removeValue(forKey: row) }
                        writer.write(result)
                    }
                }
            }
        }
    }
}
