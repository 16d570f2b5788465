import Glibc
import Larder

/// One request and its answer, from the request line to the end.
final class Exchange: @unchecked Sendable {
    // Sendable: `state` is a lock; the other variables are touched only by the connection's thread, which
    // libmicrohttpd never changes while a request lasts.
    let connection: Connection
    /// nil where the target is not UTF-8.
    let target: String?
    /// Where the raw target stood, and its length as a C string.
    let targetAddress: UInt
    let targetLength: Int
    let began: UInt64
    var request: Request?
    var sent: Answer?

    private enum State {
        case idle
        case waiting(Task<Void, Never>?)
        case ready(Answer)
    }
    private let state = Lock(State.idle)

    init(connection: Connection, target: UnsafePointer<CChar>, began: UInt64) {
        self.connection = connection
        self.target = String(validatingCString: target)
        targetAddress = UInt(bitPattern: target)
        targetLength = strlen(target)
        self.began = began
    }

    func wait() { state.withLock { $0 = .waiting(nil) } }

    /// Remembers the task, to cancel it. Where the answer is there already, nobody wants the task any more.
    func attach(_ task: Task<Void, Never>) {
        let isWanted = state.withLock { state -> Bool in
            guard case .waiting = state else { return false }
            state = .waiting(task)
            return true
        }
        if !isWanted { task.cancel() }
    }

    /// The answer has come. False where one was there before.
    func finish(_ answer: Answer) -> Bool {
        state.withLock { state in
            guard case .waiting = state else { return false }
            state = .ready(answer)
            return true
        }
    }

    func cancel() {
        let task = state.withLock { state -> Task<Void, Never>? in
            if case .waiting(let task) = state { task } else { nil }
        }
        task?.cancel()
    }

    /// The answer that came while the connection waited.
    func takeAnswer() -> Answer? {
        state.withLock { state in
            guard case .ready(let answer) = state else { return nil }
            state = .idle
            return answer
        }
    }
}
