import Foundation
import Larder
import LarderWorkers

extension Command {
    /// Not for people: see Documentation/worker-protocol.md.
    static let worker = Command(
        name: "worker", summary: "run rows for another larder process", isHidden: true,
        run: { arguments, console in try await WorkerCommand.run(arguments, console) })
}

/// `larder worker`: rows on standard input, results on standard output.
enum WorkerCommand {
    static func run(_ arguments: Arguments, _ console: Console) async throws -> ExitStatus {
        guard let channel = WorkerLoop.become(isVerbose: try arguments.flag("verbose")) else {
            throw CommandFailure("this process cannot be made a worker")
        }
        var console = console
        console.err = { _ = Descriptor.write($0, to: channel.log) }
        let log = console
        await WorkerLoop.run(channel) { setup in
            do {
                let runner = try runner(setup, log)
                return WorkerLoop.Handler(on: runner.executor) { line in
                    guard let row = Row(line: line) else {
                        let number = WorkerLine.row(of: line) ?? 0
                        return RowResult.failure(.badRow("the worker cannot read it")).line(row: number)
                    }
                    return await runner.run(row).line(row: row.number)
                }
            } catch {
                log.fail("worker: \(error)")
                return nil
            }
        }
        return .success
    }

    /// Workers that run rows as `prefetch` with these words would. A row takes no longer than its deadline and the
    /// time to make its thumbnails: a worker that answers none for a minute more is stuck.
    static func pool(
        _ words: [String], count: Int, credits: Int, deadlines: Deadlines, isVerbose: Bool = false
    ) -> WorkerPool {
        var environment = ProcessInfo.processInfo.environment
        environment["SWIFT_BACKTRACE"] = "enable=no"
        return WorkerPool(
            .init(
                executable: "/proc/self/exe", arguments: ["worker"] + (isVerbose ? ["--verbose"] : []),
                environment: environment, setup: setup(words), workers: count, credits: credits,
                silence: deadlines.total + 60))
    }

    /// The setup line that has a worker run rows as `prefetch` with these words would.
    private static func setup(_ words: [String]) -> [UInt8] {
        let object = ["arguments": words]
        return Array((try? JSONSerialization.data(withJSONObject: object)) ?? Data())
    }

    private static func runner(_ setup: [UInt8], _ console: Console) throws -> LoaderRunner {
        let object = try JSONSerialization.jsonObject(with: Data(setup)) as? [String: [String]]
        guard let words = object?["arguments"] else { throw CommandFailure("the setup line makes no sense") }
        let arguments = try ArgumentParser(Command.prefetch.allOptions, environment: [:]).parse(words)
        return try RowWork.worker(arguments, console)
    }
}
