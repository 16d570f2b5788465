import Foundation
import Larder
import LarderWorkers
import TestSupport

@testable import LarderPrefetch

/// A runner that does what a row's URL says: `http://HOST/WHAT/…`, WHAT being `cached`, `ok`, `fail`, `timeout`,
/// `cut` (timed out behind the head), `hang` (until it is cancelled or let go) or `deaf` (until it is let go).
final class ScriptedRunner: RowRunner {
    struct State {
        var runs: [String] = []
        var lookUps: [String] = []
        var storedLookUps: [String] = []
        var underWay: [String: Int] = [:]
        var mostUnderWay: [String: Int] = [:]
        var held: [(url: String, continuation: Handover<Void>)] = []
        var isReleased = false
        var waiters: [(count: Int, release: Release)] = []
    }

    let state = Lock(State())
    let exportsRows: Bool

    init(exportsRows: Bool = false) { self.exportsRows = exportsRows }

    /// Called as a row is about to begin.
    let beforeStart = Lock<(@Sendable () -> Void)?>(nil)

    var executor: (any TaskExecutor)? {
        beforeStart.withLock { $0 }?()
        return nil
    }

    var runs: [String] { state.withLock { $0.runs } }

    /// Lets everything that hangs end, now and later.
    func release() {
        let held = state.withLock { state in
            defer { state.held = [] }
            state.isReleased = true
            return state.held
        }
        for (_, continuation) in held { continuation.resume() }
    }

    /// Waits until so many rows have begun.
    func begun(_ count: Int) async {
        await withRelease { release in
            let isDone = state.withLock { state in
                if state.runs.count >= count { return true }
                state.waiters.append((count, release))
                return false
            }
            if isDone { release.resume() }
        }
    }

    func identity(of row: Row) -> RowIdentity? {
        let words = row.url.split(separator: "/", maxSplits: 2)
        guard words.count == 3 else { return nil }
        let hash = CacheKey(url: row.url).hash
        return RowIdentity(high: hash.high, low: hash.low, host: String(words[1]))
    }

    func answer(_ rows: [Row]) async -> [RowResult?] {
        state.withLock { $0.lookUps += rows.map(\.url) }
        return rows.map { row in
            guard identity(of: row) != nil else {
                return .failure(RowError(ImageError.invalidURL(.init(url: row.url))))
            }
            return row.url.contains("/cached") ? success(.disk) : nil
        }
    }

    func answerStored(_ rows: [Row]) async -> [RowResult?] {
        state.withLock { $0.storedLookUps += rows.map(\.url) }
        return rows.map { _ in success(.disk) }
    }

    func run(_ row: Row) async -> RowResult {
        let host = identity(of: row)?.host ?? ""
        let woken = state.withLock { state in
            state.runs.append(row.url)
            for name in [host, "all"] {
                state.underWay[name, default: 0] += 1
                state.mostUnderWay[name] = max(state.mostUnderWay[name] ?? 0, state.underWay[name]!)
            }
            let woken = state.waiters.filter { $0.count <= state.runs.count }
            state.waiters.removeAll { $0.count <= state.runs.count }
            return woken
        }
        for (_, continuation) in woken { continuation.resume() }
        defer {
            state.withLock {
                $0.underWay[host]! -= 1
                $0.underWay["all"]! -= 1
            }
        }
        switch row.url.split(separator: "/")[2] {
        case "fail":
            return .failure(RowError(.httpStatus(404, .init("no", url: row.url))), attempts: 1, milliseconds: 2)
        case "timeout":
            await Task.yield()
            return .failure(RowError(.timedOut(.total, .init())))
        case "cut":
            var details = ImageError.Details("no byte for 15.0 s")
            details.status = 200
            return .failure(RowError(.timedOut(.idle, details)))
        case "hang":
            await withTaskCancellationHandler {
                await hold(row.url)
            } onCancel: {
                let held = state.withLock { state in
                    let index = state.held.firstIndex { $0.url == row.url }
                    return index.map { state.held.remove(at: $0) }
                }
                held?.continuation.resume()
            }
            return Task.isCancelled ? .failure(RowError(.cancelled(.init()))) : success(.network)
        case "deaf":
            await hold(row.url)
            return success(.network)
        default: return success(.network)
        }
    }

    private func hold(_ url: String) async {
        await withHandover { continuation in
            let goesOn = state.withLock { state in
                if state.isReleased || Task.isCancelled { return true }
                state.held.append((url, continuation))
                return false
            }
            if goesOn { continuation.resume() }
        }
    }

    private func success(_ source: RowResult.Source) -> RowResult {
        var facts = RowFacts(
            status: 200, format: .jpeg, width: 4, height: 3, orientation: 6, bytes: 100, sha256: [0xAB], file: "ab/cd")
        facts.attempts = 1
        facts.milliseconds = 7
        return .success(source, facts)
    }
}

/// Collects the report's lines.
final class ReportLines: Sendable {
    private let bytes = Lock([UInt8]())
    var writer: ReportWriter {
        ReportWriter { [bytes] (piece) throws(ReportWriter.Failure) in bytes.withLock { $0 += piece } }
    }
    var text: String { String(decoding: bytes.withLock { $0 }, as: UTF8.self) }
    var lines: [String] { text.split(separator: "\n").map(String.init) }

    /// Every line as an object; a line that is no JSON fails the test by throwing.
    var objects: [[String: Any]] {
        get throws {
            try lines.map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:] }
        }
    }
}
