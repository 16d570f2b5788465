import Glibc
import Larder

/// One request and its answer, from the request line to the end.
final class Exchange: @unchecked Sendable {
    // Sendable: the variables are touched only by the connection's thread, which libmicrohttpd never changes while a
    // request lasts; `state` is made before anybody else knows of the object, and is a lock.
    let connection: Connection
    /// nil where the target is not UTF-8.
    let target: String?
    /// Where the raw target stood, and its length as a C string.
    let targetAddress: UInt
    let targetLength: Int
    let began: UInt64
    var request: Request?
    var sent: Answer?
    /// Set where the request is a plain one.
    var plain: PlainRequest?
    /// Given in place of an answer of its own.
    var ready: ReadyAnswer?

    private enum State {
        case waiting(Task<Void, Never>?)
        case ready(Answer)
        case taken
    }
    private var state: Lock<State>?

    init(connection: Connection, target: UnsafePointer<CChar>, began: UInt64) {
        self.connection = connection
        self.target = String(validatingCString: target)
        targetAddress = UInt(bitPattern: target)
        targetLength = strlen(target)
        self.began = began
    }

    /// Called before the others.
    func wait() { state = Lock(.waiting(nil)) }

    /// Remembers the task, to cancel it. Where the answer is there already, nobody wants the task any more.
    func attach(_ task: Task<Void, Never>) {
        let isWanted =
            state?.withLock { state -> Bool in
                guard case .waiting = state else { return false }
                state = .waiting(task)
                return true
            } ?? false
        if !isWanted { task.cancel() }
    }

    /// The answer has come. False where one was there before.
    func finish(_ answer: Answer) -> Bool {
        state?.withLock { state in
            guard case .waiting = state else { return false }
            state = .ready(answer)
            return true
        } ?? false
    }

    func cancel() {
        let task = state?.withLock { state -> Task<Void, Never>? in
            if case .waiting(let task) = state { task } else { nil }
        }
        task?.cancel()
    }

    /// The answer that came while the connection waited.
    func takeAnswer() -> Answer? {
        state?.withLock { state in
            guard case .ready(let answer) = state else { return nil }
            state = .taken
            return answer
        }
    }
}
