import Foundation

/// The threads of a ``BlockingExecutor``, which are also the executor of the tasks that prefer it.
///
/// As many run as there are processors: more would only take turns with them, and with the threads that bring the
/// data. Where those that run take up nothing for a moment, the device keeps them waiting, and others help, up to
/// `width` in all.
///
/// What a task on one of the threads makes ready (a task that it starts, or lets go on) runs on the same thread as
/// soon as that is free, without waking another; unless the thread goes on with work that blocks, when others take
/// it over. What another thread lets go on (that of a transport) goes back to the thread it waited on, whose caches
/// hold its data, if that is soon free.
final class ExecutorThreads: TaskExecutor, @unchecked Sendable {
    // Sendable: `state` is locked. A seat's fields are touched by its own thread alone, and by whoever took the seat
    // from `idle` while its thread sleeps.
    enum Work {
        case job(UnownedJob)
        case body(@Sendable () -> Void)
    }

    private struct State {
        var queue = Queue()
        /// Those that sleep; the last to fall asleep wakes first, with its caches warm.
        var idle: [Seat] = []
        var threads = 0
        /// One of the threads looks whether the others get on with what is queued.
        var hasWatch = false
        /// Pieces of work taken from the queue.
        var taken: UInt64 = 0
        var closed = false

        var running: Int { threads - idle.count - (hasWatch ? 1 : 0) }

        mutating func take(for seat: Seat) -> Work? {
            taken &+= 1
            return queue.popFirst(for: seat.place)
        }

        /// The one whose place it is, else the last.
        mutating func takeIdle(_ place: Place?) -> Seat? {
            guard let place, let at = idle.lastIndex(where: { $0.place == place }) else { return idle.popLast() }
            return idle.remove(at: at)
        }
    }

    private let state = Lock(State())
    private let name: String
    private let width: Int
    private let processors: Int
    private let patience: UInt32

    /// Jobs that one thread runs one after the other before it looks at what else waits.
    private static let mostInRow = 32
    private static let stackSize = 4 << 20

    /// - Parameter patience: how long nothing may be taken up before another thread helps, in microseconds.
    init(name: String, width: Int, processors: Int, patience: UInt32) {
        self.name = name
        self.width = width
        self.processors = processors
        self.patience = patience
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let seat = Seat.current.flatMap { $0.threads === self ? $0 : nil }
        if let seat, !seat.blocks, seat.next == nil {
            seat.next = .job(job)
        } else {
            submit(.job(job), Self.wanted ?? seat?.place)
        }
    }

    func submit(_ body: @escaping @Sendable () -> Void) { submit(.body(body)) }

    private func submit(_ work: Work, _ place: Place? = nil) {
        let call = state.withLock { state -> Call? in
            if state.running < processors, let seat = state.takeIdle(place) {
                seat.next = work
                return .wakes(seat)
            }
            state.queue.append(work, place)
            return state.running < processors ? startsThread(&state) : startsWatch(&state)
        }
        perform(call)
    }

    /// What is done for the state after its lock was given back.
    private enum Call {
        case wakes(Seat)
        case starts(asWatch: Bool)
    }

    private func startsThread(_ state: inout State, asWatch: Bool = false) -> Call? {
        guard state.threads < width else { return nil }
        state.threads += 1
        return .starts(asWatch: asWatch)
    }

    private func startsWatch(_ state: inout State) -> Call? {
        guard !state.hasWatch, !state.idle.isEmpty || state.threads < width else { return nil }
        state.hasWatch = true
        guard let seat = state.idle.popLast() else { return startsThread(&state, asWatch: true) }
        seat.watches = true
        return .wakes(seat)
    }

    private func perform(_ call: Call?) {
        switch call {
        case nil: break
        case .wakes(let seat): seat.wake()
        case .starts(let asWatch):
            let thread = Thread { [self] in serve(asWatch: asWatch) }
            thread.stackSize = Self.stackSize
            thread.start()
        }
    }

    /// Lets the threads end once nothing is left to do.
    func close() {
        let sleepers = state.withLock { state in
            state.closed = true
            defer { state.idle = [] }
            return state.idle
        }
        for seat in sleepers { seat.wake() }
    }

    // MARK: Places

    /// Which of the threads a task was on. Says nothing but that: the thread may have ended.
    typealias Place = ObjectIdentifier

    /// The place of the calling thread, where it is one of an executor's.
    static var currentPlace: Place? { Seat.current?.place }

    /// Where the task should go on that the calling thread lets go on.
    private static var wanted: Place? { wantedSlot.pointer.map { unsafeBitCast($0, to: Place.self) } }
    private static let wantedSlot = ThreadSlot()

    /// Lets a task go on, by `resume`, that waited in that place.
    static func resuming(at place: Place?, _ resume: () -> Void) {
        guard let place, place != currentPlace else { return resume() }
        wantedSlot.pointer = UnsafeMutableRawPointer(bitPattern: UInt(bitPattern: place))
        resume()
        wantedSlot.pointer = nil
    }

    // MARK: On the threads

    /// Whether the caller is a task's job on one of the threads, and so may block.
    var areCurrent: Bool { Seat.current.map { $0.threads === self && !$0.blocks } ?? false }

    /// Runs `body`, which may block: what waits for this thread is left to the others.
    static func blocking<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        guard let seat = Seat.current else { return try body() }
        let wasBlocking = seat.blocks
        seat.blocks = true
        if let next = seat.next.take() { seat.threads.submit(next, seat.place) }
        defer { seat.blocks = wasBlocking }
        return try body()
    }

    private func serve(asWatch: Bool) {
        let seat = Seat(self)
        seat.watches = asWatch
        Seat.current = seat
        // Only from within does the system learn of it.
        Thread.current.name = name
        while let work = next(seat) {
            switch work {
            case .job(let job): job.runSynchronously(on: asUnownedTaskExecutor())
            case .body(let body): body()
            }
        }
        Seat.current = nil
    }

    private func next(_ seat: Seat) -> Work? {
        if let own = seat.next.take() {
            seat.inRow += 1
            if seat.inRow <= Self.mostInRow { return own }
            submit(own, seat.place)
        }
        seat.inRow = 0
        while true {
            if seat.watches, let work = watch(seat) { return work }
            let (work, ends) = state.withLock { state -> (Work?, Bool) in
                if let work = state.take(for: seat) { return (work, false) }
                if state.closed {
                    state.threads -= 1
                    return (nil, true)
                }
                state.idle.append(seat)
                return (nil, false)
            }
            if work != nil || ends { return work }
            seat.sleep()
            if let given = seat.next.take() { return given }
        }
    }

    /// Looks now and then, as long as work is queued, whether any of it was taken up; where not, takes some.
    private func watch(_ seat: Seat) -> Work? {
        seat.watches = false
        var seen = state.withLock(\.taken)
        while true {
            usleep(patience)
            let (work, isOver, call) = state.withLock { state -> (Work?, Bool, Call?) in
                guard !state.queue.isEmpty, state.taken == seen else {
                    seen = state.taken
                    if state.queue.isEmpty { state.hasWatch = false }
                    return (nil, state.queue.isEmpty, nil)
                }
                state.hasWatch = false
                let work = state.take(for: seat)
                // The next one sees to the rest.
                return (work, true, state.queue.isEmpty ? nil : startsWatch(&state))
            }
            perform(call)
            if isOver { return work }
        }
    }

    /// A thread's place.
    private final class Seat {
        let threads: ExecutorThreads
        /// What runs next here.
        var next: Work?
        var blocks = false
        var inRow = 0
        /// It is to look after the others.
        var watches = false
        private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

        init(_ threads: ExecutorThreads) {
            self.threads = threads
            sem_init(semaphore, 0, 0)
        }

        deinit {
            sem_destroy(semaphore)
            semaphore.deallocate()
        }

        func wake() { sem_post(semaphore) }
        func sleep() { while sem_wait(semaphore) != 0 {} }

        /// That of the calling thread, which holds it as long as it lives.
        static var current: Seat? {
            get { slot.pointer.map { Unmanaged<Seat>.fromOpaque($0).takeUnretainedValue() } }
            set { slot.pointer = newValue.map { Unmanaged.passUnretained($0).toOpaque() } }
        }
        private static let slot = ThreadSlot()

        var place: Place { ObjectIdentifier(self) }
    }

    /// First in, first out; but a thread passes over what belongs in another's place, up to a bound.
    struct Queue {
        private var items: [(work: Work?, place: Place?)] = []
        private var head = 0

        /// How far a thread looks for work of its own. What stands first is passed over that often less one at most.
        static let reach = 16

        var isEmpty: Bool { head == items.count }

        mutating func append(_ work: Work, _ place: Place?) { items.append((work, place)) }

        mutating func popFirst(for place: Place) -> Work? {
            guard head < items.count else { return nil }
            let own = (head..<min(items.count, head + Self.reach)).first {
                items[$0].work != nil && (items[$0].place ?? place) == place
            }
            let work = items[own ?? head].work.take()
            while head < items.count, items[head].work == nil { head += 1 }
            if head == items.count {
                items.removeAll(keepingCapacity: true)
                head = 0
            } else if head > 1024 {
                items.removeSubrange(..<head)
                head = 0
            }
            return work
        }
    }
}
