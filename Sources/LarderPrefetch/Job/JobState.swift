import LarderWorkers

/// What a job knows at one moment. A plain value behind the job's lock.
struct JobState: Sendable {
    typealias Item = PrefetchJob.Item

    /// A row that the runner has in hand.
    struct Running: Sendable {
        var item: Item
        var start: Double
        var task: Task<Void, Never>?
    }

    /// A row that is done.
    struct Finished: Sendable {
        var item: Item
        var result: RowResult
        /// Where the log keeps the result.
        var place: UInt32?
    }

    let begin: UInt64
    private let window: Int
    private let windowBytes: Int
    private let failsEarly: Bool
    /// Whether rows that repeat another have work of their own.
    private let exportsRows: Bool
    var schedule = Schedule()
    var running: [Int: Running] = [:]
    /// Batches that are being looked up.
    var lookups = 0
    /// Rows that the runner has given back and that are being reported.
    var settling = 0
    var isRead = false
    var stop: PrefetchJob.Stop?
    var isGraceOver = false
    /// Nothing counts any more.
    private(set) var isClosed = false
    private(set) var tally = Tally()
    private(set) var kept = KeptFiles()
    private(set) var hostTimes = HostTimes()
    private var index = DuplicateIndex()
    /// Work that is under way, and the rows that wait for the same result. Not by the rows' numbers: rows that come
    /// from several reports may share one.
    private var open: [RowIdentity: [Item]] = [:]
    private var sequence = 0
    private var admitted = 0
    private var weight = 0
    private var reorder: ReorderBuffer?

    init(_ configuration: PrefetchJob.Configuration, exportsRows: Bool, begin: UInt64) {
        self.exportsRows = exportsRows
        self.begin = begin
        window = configuration.window
        windowBytes = configuration.windowBytes
        failsEarly = configuration.failsEarly
        schedule.parallel = configuration.parallel
        schedule.most = max(configuration.most, configuration.parallel)
        schedule.perHost = configuration.perHost
        if configuration.isOrdered { reorder = ReorderBuffer() }
    }

    var hasRoom: Bool { admitted < window && weight < windowBytes }
    var isIdle: Bool { isRead && lookups == 0 && running.isEmpty && settling == 0 && schedule.waiting == 0 }

    /// What is to be done with rows that were read.
    struct Admission: Sendable {
        /// To be looked up or run.
        var work: [Item] = []
        /// Repetitions of rows whose results stand in the log.
        var logged: [(item: Item, place: UInt32)] = []
    }

    mutating func admit(_ rows: [(Row, RowIdentity?)]) -> Admission {
        var admission = Admission()
        for (row, identity) in rows {
            var item = Item(row: row, sequence: sequence, identity: identity)
            sequence += 1
            admitted += 1
            weight += item.weight
            guard let identity else {
                admission.work.append(item)
                continue
            }
            guard let earlier = index.insert(identity, row: row.number) else {
                open[identity] = []
                admission.work.append(item)
                continue
            }
            item.duplicateOf = earlier.row
            if open[identity] != nil {
                open[identity]!.append(item)
            } else if let place = earlier.place {
                admission.logged.append((item, place))
            } else {
                admission.work.append(item)
            }
        }
        return admission
    }

    /// Counts rows that are done and gives their report lines, where `writes`, and rows that repeat one of them and
    /// have work of their own left.
    mutating func finish(_ rows: [Finished], writes: Bool) -> (lines: [UInt8], repetitions: [Item]) {
        guard !isClosed else { return ([], []) }
        var lines: [UInt8] = []
        var repetitions: [Item] = []
        for row in rows {
            finish(row.item, row.result, writes, &lines)
            if row.item.duplicateOf == nil { kept.note(row.result) }
            guard row.item.duplicateOf == nil, let identity = row.item.identity else { continue }
            if let place = row.place { index.set(place: place, of: identity) }
            let waiters = open.removeValue(forKey: identity) ?? []
            if hasMore(row.result) {
                repetitions += waiters
            } else {
                for waiter in waiters { finish(waiter, row.result, writes, &lines) }
            }
        }
        return (lines, repetitions)
    }

    /// Whether rows that repeat one with this result are not done with it.
    func hasMore(_ result: RowResult) -> Bool { exportsRows && result.isSuccess }

    private mutating func finish(_ item: Item, _ result: RowResult, _ writes: Bool, _ lines: inout [UInt8]) {
        tally.count(item.row, result, isDuplicate: item.duplicateOf != nil)
        if failsEarly, let code = result.code, code != "filtered", stop == nil { stop = .failedEarly }
        if reorder != nil {
            var line: [UInt8] = []
            if writes { ReportLine.append(item.row, result, duplicateOf: item.duplicateOf, to: &line) }
            for weight in reorder!.add(line, weight: item.weight, sequence: item.sequence, to: &lines) {
                release(weight)
            }
        } else {
            if writes { ReportLine.append(item.row, result, duplicateOf: item.duplicateOf, to: &lines) }
            release(item.weight)
        }
    }

    private mutating func release(_ weight: Int) {
        admitted -= 1
        self.weight -= weight
    }

    mutating func noteTime(_ host: String, seconds: Double) { hostTimes.add(host, seconds) }

    /// Ends the counting and gives the lines that were held back for their order.
    mutating func close() -> [UInt8] {
        isClosed = true
        return reorder?.rest() ?? []
    }
}

/// Holds lines back until those before them have come.
struct ReorderBuffer: Sendable {
    private var held: [Int: (line: [UInt8], weight: Int)] = [:]
    private var next = 0

    /// Takes a line and appends those that may go. Gives the weights of the rows that have gone.
    mutating func add(_ line: [UInt8], weight: Int, sequence: Int, to lines: inout [UInt8]) -> [Int] {
        held[sequence] = (line, weight)
        var gone: [Int] = []
        while let (line, weight) = held.removeValue(forKey: next) {
            lines += line
            gone.append(weight)
            next += 1
        }
        return gone
    }

    /// What is left, in order, where rows between will never come.
    mutating func rest() -> [UInt8] {
        defer { held = [:] }
        return held.sorted { $0.key < $1.key }.flatMap(\.value.line)
    }
}

/// How long the rows of each host took: for the slowest hosts of the summary. Bounded.
package struct HostTimes: Sendable {
    private var hosts: [String: (count: Int, seconds: Double)] = [:]
    static let limit = 10_000

    mutating func add(_ host: String, _ seconds: Double) {
        guard hosts[host] != nil || hosts.count < Self.limit else { return }
        let known = hosts[host] ?? (0, 0)
        hosts[host] = (known.count + 1, known.seconds + seconds)
    }

    /// Hosts with the longest rows, and their mean in seconds.
    package func slowest(_ count: Int) -> [(host: String, rows: Int, seconds: Double)] {
        hosts.map { ($0.key, $0.value.count, $0.value.seconds / Double($0.value.count)) }
            .sorted { ($1.2, $0.0) < ($0.2, $1.0) }.prefix(count).map { (host: $0.0, rows: $0.1, seconds: $0.2) }
    }
}
