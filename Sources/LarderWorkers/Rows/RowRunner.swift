/// What does the work of a row: the loader in this process, or workers in others.
package protocol RowRunner: Sendable {
    /// The results of those rows that need no network, in their order; nil for the others. A row that is fresh in
    /// the cache costs a look-up and waits for no host.
    func answer(_ rows: [Row]) async -> [RowResult?]

    /// Whether a row has work of its own although another one had the same image: a file under its own name.
    var exportsRows: Bool { get }

    /// As ``answer(_:)``, for rows whose image was stored for another row just now: it is not asked for again,
    /// whatever the policy. nil where it is not to be had any more.
    func answerStored(_ rows: [Row]) async -> [RowResult?]

    /// Does the row: fetches, checks, keeps, makes thumbnails. Answers soon where the task is cancelled.
    func run(_ row: Row) async -> RowResult

    /// Where the tasks that call `run` do best; nil for the cooperative pool.
    var executor: (any TaskExecutor)? { get }

    /// The name under which rows are the same work: the normalised URL and what is wanted of it; nil where the row
    /// is not usable (`answer` says why). Called from any thread, cheap.
    func identity(of row: Row) -> RowIdentity?
}

extension RowRunner {
    package var executor: (any TaskExecutor)? { nil }
    package var exportsRows: Bool { false }
    package func answerStored(_ rows: [Row]) async -> [RowResult?] { await answer(rows) }
}

/// 128 bits that name a row's work, and the host that it goes to.
package struct RowIdentity: Sendable, Hashable {
    package var high: UInt64
    package var low: UInt64
    /// Host and port; empty where none is asked.
    package var host: String

    package init(high: UInt64, low: UInt64, host: String) {
        self.high = high
        self.low = low
        self.host = host
    }
}
