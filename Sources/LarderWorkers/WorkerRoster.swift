import Glibc
import Larder

/// Who does what: the slots of a pool, the rows that wait, and what a death means for them. A plain value: the
/// pool locks it, and does what it says outside the lock.
struct WorkerRoster {
    /// A row and whoever waits for it.
    struct Job {
        let row: Int
        let line: [UInt8]
        let continuation: Handover<WorkerPool.Reply>
        /// Workers that had it in hand.
        var workers = 0
        /// Deaths of a worker in which this was the only row.
        var deathsAlone = 0
        var killsAlone = 0
    }

    private struct Slot {
        var process: WorkerProcess?
        /// Whether a thread looks after the slot.
        var isSupervised = false
        var jobs: [Int: Job] = [:]
        /// Ticks in which it had rows in hand and answered none.
        var silentTicks = 0
        let credits: Int
        /// Takes only rows that were in the hands of a worker that died.
        let isApart: Bool
    }

    /// A row that has killed this many workers alone is guilty.
    private static let maxDeathsAlone = 2
    /// SIGKILL is more often the system's (or an operator's) doing than the row's.
    private static let maxKillsAlone = 5
    /// A worker that is silent for more ticks is stuck. Several, because a computer that slept misses only one.
    static let maxSilentTicks = 5

    private var slots: [Slot]
    private var waiting: ArraySlice<Job> = []
    private var suspects: ArraySlice<Job> = []
    private var isStopping = false
    private var emptied: Handover<Void>?
    private(set) var deaths = 0

    init(workers: Int, credits: Int) {
        slots = (0..<workers).map { _ in Slot(credits: credits, isApart: false) }
        slots.append(Slot(credits: 1, isApart: true))
    }

    var processes: [WorkerProcess] { slots.compactMap(\.process) }

    /// Takes a row in, or says why not.
    mutating func add(_ job: Job) -> WorkerPool.Reply? {
        if isStopping { return .cancelled }
        waiting.append(job)
        return nil
    }

    /// What the pool has to do now.
    struct Steps {
        /// The slots for which a thread must be started.
        var starts: [Int] = []
        /// The rows that go out, each with its worker.
        var sends: [(WorkerProcess, [UInt8])] = []
    }

    /// What is to be done for the rows that wait.
    mutating func takeSteps() -> Steps {
        var steps = Steps()
        guard !isStopping, !waiting.isEmpty || !suspects.isEmpty else { return steps }
        takeStarts(&steps)
        while !suspects.isEmpty, let index = choose(apart: true), let job = suspects.popFirst() {
            give(job, to: index, &steps)
        }
        while !waiting.isEmpty, let index = choose(apart: false), let job = waiting.popFirst() {
            give(job, to: index, &steps)
        }
        return steps
    }

    private mutating func takeStarts(_ steps: inout Steps) {
        var wanted = waiting.count
        for index in slots.indices where !slots[index].isSupervised {
            if slots[index].isApart {
                if suspects.isEmpty { continue }
            } else {
                if wanted <= 0 { continue }
                wanted -= slots[index].credits
            }
            slots[index].isSupervised = true
            steps.starts.append(index)
        }
    }

    /// The worker that takes the next row: always the one with the fewest in hand.
    private func choose(apart: Bool) -> Int? {
        var best: Int?
        for index in slots.indices where slots[index].isApart == apart && slots[index].process != nil {
            guard slots[index].jobs.count < slots[index].credits else { continue }
            if let known = best, slots[known].jobs.count <= slots[index].jobs.count { continue }
            best = index
        }
        return best
    }

    private mutating func give(_ job: Job, to index: Int, _ steps: inout Steps) {
        guard let process = slots[index].process else { return }
        var job = job
        job.workers += 1
        slots[index].jobs[job.row] = job
        steps.sends.append((process, job.line))
    }

    /// A worker is ready. False where it is no longer wanted.
    mutating func started(_ slot: Int, _ process: WorkerProcess) -> Bool {
        slots[slot].process = process
        return !isStopping
    }

    /// Takes a finished row out of its worker's hands.
    mutating func finished(_ row: Int, in slot: Int) -> Job? {
        slots[slot].silentTicks = 0
        return slots[slot].jobs.removeValue(forKey: row)
    }

    /// A tick has passed in which a worker said nothing: whether it must be taken for stuck.
    mutating func isStuck(_ slot: Int) -> Bool {
        slots[slot].silentTicks = slots[slot].jobs.isEmpty ? 0 : slots[slot].silentTicks + 1
        return slots[slot].silentTicks > Self.maxSilentTicks
    }

    /// What the end of a worker means for the rows it had in hand: those that are given a reply end with it, the
    /// others wait to be tried alone.
    mutating func ended(_ slot: Int, _ end: ProcessEnd) -> [(Job, WorkerPool.Reply)] {
        let jobs = slots[slot].jobs.values.sorted { $0.row < $1.row }
        let death: WorkerPool.Death
        switch end {
        case _ where slots[slot].silentTicks > Self.maxSilentTicks: death = .silence
        case .signal(let signal): death = .signal(signal)
        case .exit: death = .exit
        }
        slots[slot].jobs = [:]
        slots[slot].process = nil
        slots[slot].silentTicks = 0
        if isStopping { return jobs.map { ($0, .cancelled) } }
        guard !jobs.isEmpty || end != .exit(0) else { return [] }
        deaths += 1
        var ends: [(Job, WorkerPool.Reply)] = []
        for var job in jobs {
            if jobs.count == 1 {
                if death == .signal(SIGKILL) { job.killsAlone += 1 } else { job.deathsAlone += 1 }
            }
            if job.deathsAlone >= Self.maxDeathsAlone || job.killsAlone >= Self.maxKillsAlone {
                ends.append((job, .crashed(death, workers: job.workers)))
            } else {
                suspects.append(job)
            }
        }
        return ends
    }

    /// The rows that cannot run because no worker of this slot's kind can be started.
    mutating func fail(_ slot: Int) -> [Job] {
        if slots[slot].isApart {
            defer { suspects = [] }
            return Array(suspects)
        }
        // While another worker lives, the rows wait for it.
        guard !slots.contains(where: { !$0.isApart && $0.process != nil }) else { return [] }
        defer { waiting = [] }
        return Array(waiting)
    }

    /// Whether the slot's thread should start another worker; false ends the thread.
    mutating func startAgain(_ slot: Int) -> Bool {
        let hasWork = slots[slot].isApart ? !suspects.isEmpty : !waiting.isEmpty
        slots[slot].isSupervised = hasWork && !isStopping
        return slots[slot].isSupervised
    }

    enum Cancellation {
        case dropped(Job)
        case running(WorkerProcess)
        case unknown
    }

    /// Gives a row up: at once where it waits; where it runs, its worker must be told.
    mutating func cancel(_ row: Int) -> Cancellation {
        if let index = waiting.firstIndex(where: { $0.row == row }) { return .dropped(waiting.remove(at: index)) }
        if let index = suspects.firstIndex(where: { $0.row == row }) { return .dropped(suspects.remove(at: index)) }
        for slot in slots where slot.jobs[row] != nil {
            if let process = slot.process { return .running(process) }
        }
        return .unknown
    }

    /// Takes nothing more in; gives what waits and whom to tell.
    mutating func stop() -> ([Job], [WorkerProcess]) {
        isStopping = true
        defer {
            waiting = []
            suspects = []
        }
        return (Array(waiting) + Array(suspects), processes)
    }

    /// Keeps the continuation until the last thread has ended. True where none runs.
    mutating func whenEmpty(_ continuation: Handover<Void>) -> Bool {
        if !slots.contains(where: \.isSupervised) { return true }
        emptied = continuation
        return false
    }

    /// Whoever waits for the end, once the last thread has ended.
    mutating func takeEmptied() -> Handover<Void>? {
        guard !slots.contains(where: \.isSupervised) else { return nil }
        defer { emptied = nil }
        return emptied
    }
}
