import Foundation
import Larder

/// A cache directory that is looked after: how it is opened, and how long work on it is shown and ended.
final class UpkeepSession: Sendable {
    static let progress = Option.value(
        "progress", "WHEN", "auto, always or never", default: "auto", choices: ["auto", "always", "never"])

    let tier: DiskTier
    let isJSON: Bool
    let isQuiet: Bool
    private let console: Console
    private let mode: ProgressDisplay.Mode
    private let executor = BlockingExecutor(name: "larder-upkeep", width: 1)
    private let stopped: Lock<Bool>
    private let signals: SignalWatch

    init(_ arguments: Arguments, _ console: Console) throws {
        self.console = console
        isJSON = try arguments.flag("json")
        let isQuiet = try arguments.flag("quiet")
        self.isQuiet = isQuiet
        mode = ProgressDisplay.mode(try arguments.string("progress") ?? "auto", quiet: isQuiet, console)
        let directory = try arguments.string("cache") ?? "cache"
        var configuration = DiskTierConfiguration()
        configuration.creates = false
        configuration.marks = false
        // Which limits hold is for those to say who store: looking after a directory must not shrink it.
        configuration.maximumBytes = .max
        configuration.maximumCount = .max
        configuration.warnings = { if !isQuiet { console.say($0) } }
        do throws(ImageError) {
            tier = try DiskTier(directory: directory, configuration: configuration)
        } catch {
            throw CommandFailure(error.details.detail, hint: "--cache DIR names another directory.")
        }
        let stopped = Lock(false)
        self.stopped = stopped
        signals = SignalWatch { stopped.withLock { $0 = true } }
    }

    /// 130 or 143 where a signal has ended the work, else `status`.
    func status(_ status: ExitStatus) -> ExitStatus { signals.status ?? status }

    /// Runs `body` where it may block, and shows how far it has come. A signal makes its progress answer false.
    ///
    /// - Parameter what: what is done with the entries, such as `checked`.
    func run<Success: Sendable>(
        _ what: String, _ body: @escaping @Sendable (DiskTier, UpkeepProgress.Report) throws(ImageError) -> Success
    ) async throws -> Success {
        let latest = Lock<UpkeepProgress?>(nil)
        let showing = Task {
            await mode.show(on: console) { latest.withLock { $0 }.map { UpkeepText.progress($0, what) } }
        }
        defer { showing.cancel() }
        do throws(ImageError) {
            let result = try await executor.run { [self] () throws(ImageError) in
                try body(tier) { progress in
                    latest.withLock { $0 = progress }
                    return !stopped.withLock { $0 }
                }
            }
            showing.cancel()
            await showing.value
            return result
        } catch {
            throw CommandFailure(error.details.detail)
        }
    }

    /// Waits for the index, which is made anew where it was lost; false where a signal ended that.
    func waitForIndex() async throws -> Bool {
        try await run("entered into a new index") { tier, report in tier.waitForIndex(progress: report) }
    }

    /// Writes what the index is behind and lets go of the directory.
    func close() async { await executor.perform { [tier] in tier.close() } }
}
