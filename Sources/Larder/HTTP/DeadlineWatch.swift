/// Ends exchanges and bodies at their deadline: one task that looks ten times a second while there is anything to end,
/// instead of a sleeping task for every transfer.
final class DeadlineWatch: Sendable {
    private struct Entry {
        enum Subject {
            case exchange(Task<Result<TransportResponse, ImageError>, Never>)
            case body(WeakBody)
        }

        var deadline: UInt64
        var subject: Subject
    }

    private struct WeakBody {
        weak var body: ResponseBody?
    }

    private struct State {
        var entries: [Int: Entry] = [:]
        var lastID = 0
        var isRunning = false
    }

    private let time: any TimeSource
    private let state = Lock(State())

    init(time: any TimeSource) { self.time = time }

    /// Cancels the task at the deadline, unless it is removed before.
    func add(_ exchange: Task<Result<TransportResponse, ImageError>, Never>, deadline: UInt64) -> Int {
        add(Entry(deadline: deadline, subject: .exchange(exchange)))
    }

    /// Ends the body with `.timedOut(.total)` at the deadline, unless it has ended or was released before.
    func add(_ body: ResponseBody, deadline: UInt64) {
        guard !body.isFinished else { return }
        _ = add(Entry(deadline: deadline, subject: .body(WeakBody(body: body))))
    }

    /// Whether the deadline had passed already.
    func remove(_ id: Int) -> Bool { state.withLock { $0.entries.removeValue(forKey: id) == nil } }

    private func add(_ entry: Entry) -> Int {
        let (id, starts) = state.withLock { state in
            state.lastID += 1
            state.entries[state.lastID] = entry
            defer { state.isRunning = true }
            return (state.lastID, !state.isRunning)
        }
        if starts { Task { await run() } }
        return id
    }

    private func run() async {
        while true {
            try? await time.sleep(seconds: 0.1)
            let now = time.monotonic
            let (expired, isRunning) = state.withLock { state -> ([Entry.Subject], Bool) in
                var expired: [Entry.Subject] = []
                state.entries = state.entries.filter { _, entry in
                    if case .body(let weak) = entry.subject, weak.body?.isFinished ?? true { return false }
                    if entry.deadline > now { return true }
                    expired.append(entry.subject)
                    return false
                }
                state.isRunning = !state.entries.isEmpty
                return (expired, state.isRunning)
            }
            for subject in expired {
                switch subject {
                case .exchange(let task): task.cancel()
                case .body(let weak): weak.body?.abort(.timedOut(.total, .init("the total deadline passed")))
                }
            }
            if !isRunning { return }
        }
    }
}

extension TimeSource {
    /// The monotonic time so many seconds from now; far away where that cannot be counted.
    package func deadline(in seconds: Double) -> UInt64 {
        monotonic.addingReportingOverflow(UInt64(max(0, min(seconds, 1e9)) * 1e9)).partialValue
    }
}
