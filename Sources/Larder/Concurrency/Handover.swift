/// One value, from any thread to the one task that waits for it.
///
/// In a debug build it goes by way of a lock. ThreadSanitizer is not told by Swift's runtime when a continuation is
/// resumed before its task has suspended, and then takes all that the value refers to for raced for; it sees a lock that
/// both sides take. And what is resumed twice or never is told. A release hands the value straight on.
package struct Handover<Value: Sendable>: Sendable {
    #if DEBUG
        fileprivate let box: Lock<Value?>
        fileprivate let continuation: CheckedContinuation<Void, Never>
    #else
        fileprivate let continuation: UnsafeContinuation<Value, Never>
    #endif
    /// Where the task waits, and goes on if it can.
    fileprivate let place = ExecutorThreads.currentPlace

    /// Gives the value, once, and lets the task go on.
    package func resume(returning value: Value) {
        #if DEBUG
            box.withLock { $0 = value }
            ExecutorThreads.resuming(at: place) { continuation.resume() }
        #else
            ExecutorThreads.resuming(at: place) { continuation.resume(returning: value) }
        #endif
    }
}

extension Handover<Void> {
    /// Lets the task go on.
    package func resume() { resume(returning: ()) }
}

/// Suspends until the handover that `body` is given has been resumed, which must happen once.
///
/// - Returns: what it was resumed with.
package func withHandover<Value: Sendable>(
    isolation: isolated (any Actor)? = #isolation, function: String = #function, _ body: (Handover<Value>) -> Void
) async -> Value {
    #if DEBUG
        let box = Lock<Value?>(nil)
        await withCheckedContinuation(isolation: isolation, function: function) { continuation in
            body(Handover(box: box, continuation: continuation))
        }
        guard let value = box.withLock({ $0.take() }) else { preconditionFailure("resumed without a value") }
        return value
    #else
        return await withUnsafeContinuation(isolation: isolation) { body(Handover(continuation: $0)) }
    #endif
}
