import Larder

/// A value under a lock that tasks may wait on until it is as they wish.
final class Watched<Value: Sendable>: Sendable {
    private struct State {
        var value: Value
        var waiters: [(isDone: @Sendable (Value) -> Bool, continuation: Handover<Void>)] = []
    }

    private let state: Lock<State>

    init(_ value: sending Value) { state = Lock(State(value: value)) }

    func read<Result>(_ body: (Value) -> Result) -> Result { state.withLock { body($0.value) } }

    /// Changes the value and wakes those whose wish it now fulfils.
    @discardableResult
    func update<Result>(_ body: (inout Value) -> Result) -> Result {
        let (result, woken) = state.withLock { state in
            let result = body(&state.value)
            var woken: [Handover<Void>] = []
            for at in state.waiters.indices.reversed() where state.waiters[at].isDone(state.value) {
                woken.append(state.waiters.remove(at: at).continuation)
            }
            return (result, woken)
        }
        for continuation in woken { continuation.resume() }
        return result
    }

    /// Suspends until the value is as wished. Not cancelled with its task: whoever ends the work changes the value.
    func wait(until isDone: @escaping @Sendable (Value) -> Bool) async {
        await withHandover { continuation in
            let isDoneNow = state.withLock { state in
                if isDone(state.value) { return true }
                state.waiters.append((isDone, continuation))
                return false
            }
            if isDoneNow { continuation.resume() }
        }
    }
}
