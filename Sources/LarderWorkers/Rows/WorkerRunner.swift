import Larder

/// Runs rows in worker processes; looks up what is in the cache in this one.
package final class WorkerRunner: RowRunner {
    private let local: LoaderRunner
    private let pool: WorkerPool

    /// - Parameters:
    ///   - local: answers from the cache. It is never asked to run a row.
    ///   - pool: workers whose handler is ``WorkerLoop``'s over a ``LoaderRunner`` with the same options.
    package init(_ local: LoaderRunner, pool: WorkerPool) {
        self.local = local
        self.pool = pool
    }

    package func answer(_ rows: [Row]) async -> [RowResult?] { await local.answer(rows) }

    package var exportsRows: Bool { local.exportsRows }

    package func answerStored(_ rows: [Row]) async -> [RowResult?] { await local.answerStored(rows) }

    package func identity(of row: Row) -> RowIdentity? { local.identity(of: row) }

    package func run(_ row: Row) async -> RowResult {
        switch await pool.run({ row.line(as: $0) }) {
        case .line(let line):
            return RowResult(line: line) ?? .failure(Self.crash("the worker's answer makes no sense"), attempts: 1)
        case .crashed(let death, let workers):
            let how =
                switch death {
                case .exit: "the row ended its worker process by an exit"
                case .signal(let signal):
                    "the row ended its worker process by signal \(signal) (\(Self.name(ofSignal: signal)))"
                case .silence: "the row's worker process answered nothing any more and was ended"
                }
            return .failure(Self.crash("\(how), alone and again"), attempts: workers)
        case .unavailable(let reason):
            return .failure(Self.crash(reason))
        case .cancelled:
            return .failure(RowError(ImageError.cancelled(.init("the run was stopped"))))
        }
    }

    /// Ends the workers.
    package func stop() async { await pool.stop() }

    private static func crash(_ detail: String) -> RowError {
        RowError(
            code: "worker_crashed",
            message: "The process that worked on this image ended. Leave the image out, or report the fault.",
            detail: detail)
    }

    private static func name(ofSignal signal: Int32) -> String {
        let names: [Int32: String] = [
            4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV",
            15: "SIGTERM", 31: "SIGSYS",
        ]
        return names[signal] ?? "unknown"
    }
}
