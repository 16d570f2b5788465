#if DEBUG
    /// One value, from any thread to the one task that waits for it: what a continuation is for, by way of a lock.
    ///
    /// ThreadSanitizer is not told by Swift's runtime when a continuation is resumed before its task has suspended, and
    /// then takes all that the value refers to for raced for. It sees a lock that both sides take. What is resumed twice
    /// or never is told, too; a release hands the value straight on.
    package struct Handover<Value: Sendable>: Sendable {
        fileprivate let place: Lock<Value?>
        fileprivate let continuation: CheckedContinuation<Void, Never>

        /// Gives the value, once, and lets the task go on.
        package func resume(returning value: Value) {
            place.withLock { $0 = value }
            continuation.resume()
        }
    }

    /// Suspends until the handover that `body` is given has been resumed, which must happen once.
    ///
    /// - Returns: what it was resumed with.
    package func withHandover<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, function: String = #function, _ body: (Handover<Value>) -> Void
    ) async -> Value {
        let place = Lock<Value?>(nil)
        await withCheckedContinuation(isolation: isolation, function: function) { continuation in
            body(Handover(place: place, continuation: continuation))
        }
        guard let value = place.withLock({ $0.take() }) else { preconditionFailure("resumed without a value") }
        return value
    }
#else
    /// One value, from any thread to the one task that waits for it.
    package struct Handover<Value: Sendable>: Sendable {
        fileprivate let continuation: UnsafeContinuation<Value, Never>

        /// Gives the value, once, and lets the task go on.
        package func resume(returning value: Value) { continuation.resume(returning: value) }
    }

    /// Suspends until the handover that `body` is given has been resumed, which must happen once.
    ///
    /// - Returns: what it was resumed with.
    package func withHandover<Value: Sendable>(
        isolation: isolated (any Actor)? = #isolation, _ body: (Handover<Value>) -> Void
    ) async -> Value {
        await withUnsafeContinuation(isolation: isolation) { body(Handover(continuation: $0)) }
    }
#endif

extension Handover<Void> {
    /// Lets the task go on.
    package func resume() { resume(returning: ()) }
}
