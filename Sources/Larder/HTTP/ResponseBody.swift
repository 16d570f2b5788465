/// The body of a response: a bounded queue of bytes between a transport and its one consumer.
///
/// The transport's thread calls ``push(_:)`` and ``finish(_:)``; the consumer awaits ``next()``, which gives all
/// bytes that have arrived since. Where more than `highWater` bytes wait, `push` answers false; once the consumer
/// has taken them, `onDrain` is called, for transports that can pause. ``cancel()``, the end of the consuming task
/// or the release of the body calls `onCancel`, unless the transfer has finished.
public final class ResponseBody: Sendable {
    private typealias Waiter = Handover<Result<[UInt8]?, ImageError>>

    private struct State {
        var buffer: [UInt8] = []
        var end: Result<Void, ImageError>?
        var waiter: Waiter?
        var isFull = false
        var isCancelled = false
        var hasBegun = false

        mutating func takeBuffer() -> [UInt8] {
            defer { buffer = [] }
            return buffer
        }
    }

    private let state = Lock(State())
    private let highWater: Int
    private let onDrain: @Sendable () -> Void
    private let onCancel: @Sendable () -> Void

    /// - Parameters:
    ///   - highWater: bytes that may wait before `push` answers false. 256 KiB by default.
    ///   - onDrain: called, from the consumer's thread, when a full queue has been emptied.
    ///   - onCancel: called from any thread when nobody wants the rest. Must not block; a second call does nothing.
    public init(
        highWater: Int = 256 << 10, onDrain: @escaping @Sendable () -> Void = {},
        onCancel: @escaping @Sendable () -> Void = {}
    ) {
        self.highWater = highWater
        self.onDrain = onDrain
        self.onCancel = onCancel
    }

    deinit {
        // Nobody else can hold the state here.
        let unfinished = state.withLock { $0.end == nil && !$0.isCancelled }
        if unfinished { onCancel() }
    }

    /// Adds bytes. False where more wait than should: a transport that can pause should pause until `onDrain`.
    @discardableResult
    public func push(_ bytes: UnsafeRawBufferPointer) -> Bool { push(bytes, gathering: 0) }

    /// Adds bytes without waking the consumer for fewer than `least`, the first of all apart: waking it costs more
    /// than the work on a small piece. Who gathers calls ``deliver()`` now and then, so that nothing is left lying.
    @discardableResult
    package func push(_ bytes: UnsafeRawBufferPointer, gathering least: Int) -> Bool {
        let (waiter, ready, accepts) = state.withLock {
            state -> (Waiter?, [UInt8], Bool) in
            guard state.end == nil, !state.isCancelled, !bytes.isEmpty else { return (nil, [], true) }
            let waits = state.hasBegun && state.buffer.count + bytes.count < least
            state.hasBegun = true
            if let waiter = state.waiter, !waits {
                state.waiter = nil
                if state.buffer.isEmpty { return (waiter, Array(bytes), true) }
                state.buffer.append(contentsOf: bytes)
                return (waiter, state.takeBuffer(), true)
            }
            if state.buffer.isEmpty, bytes.count < least { state.buffer.reserveCapacity(least) }
            state.buffer.append(contentsOf: bytes)
            state.isFull = state.buffer.count > highWater
            return (nil, [], !state.isFull)
        }
        waiter?.resume(returning: .success(ready))
        return accepts
    }

    /// Adds bytes that are handed over: not copied, unless others wait before them.
    @discardableResult
    package func push(_ bytes: [UInt8]) -> Bool {
        let (waiter, ready, accepts) = state.withLock {
            state -> (Waiter?, [UInt8], Bool) in
            guard state.end == nil, !state.isCancelled, !bytes.isEmpty else { return (nil, [], true) }
            if state.buffer.isEmpty { state.buffer = bytes } else { state.buffer.append(contentsOf: bytes) }
            if let waiter = state.waiter {
                state.waiter = nil
                return (waiter, state.takeBuffer(), true)
            }
            state.isFull = state.buffer.count > highWater
            return (nil, [], !state.isFull)
        }
        waiter?.resume(returning: .success(ready))
        return accepts
    }

    /// Wakes the consumer for what was gathered.
    package func deliver() {
        let (waiter, bytes) = state.withLock {
            state -> (Waiter?, [UInt8]) in
            guard !state.buffer.isEmpty, let waiter = state.waiter else { return (nil, []) }
            state.waiter = nil
            return (waiter, state.takeBuffer())
        }
        waiter?.resume(returning: .success(bytes))
    }

    /// Ends the body: whole where `error` is nil. Later calls are ignored.
    public func finish(_ error: ImageError? = nil) {
        let (waiter, bytes) = state.withLock {
            state -> (Waiter?, [UInt8]) in
            guard state.end == nil else { return (nil, []) }
            state.end = error.map { .failure($0) } ?? .success(())
            guard let waiter = state.waiter else { return (nil, []) }
            state.waiter = nil
            return (waiter, state.takeBuffer())
        }
        // What was gathered comes before the end, which the next call gives.
        let end = error.map { Result<[UInt8]?, ImageError>.failure($0) } ?? .success(nil)
        waiter?.resume(returning: bytes.isEmpty ? end : .success(bytes))
    }

    /// The bytes that have arrived since the last call (at least one), or nil at the end.
    ///
    /// - Throws: the transport's error, after the bytes that came before it; ``ImageError/cancelled(_:)`` when the
    ///   body or the waiting task was cancelled.
    public func next() async throws(ImageError) -> [UInt8]? {
        if !Task.isCancelled, let answer = take(orWait: nil) { return try answer.get() }
        let result = await withTaskCancellationHandler {
            await withHandover { waiter in
                if let answer = take(orWait: waiter) { waiter.resume(returning: answer) }
            }
        } onCancel: {
            cancel()
        }
        return try result.get()
    }

    /// What is there already; nil where nothing is, and then `waiter` is told of what comes.
    private func take(orWait waiter: Waiter?) -> Result<[UInt8]?, ImageError>? {
        let (answer, drained) = state.withLock { state -> (Result<[UInt8]?, ImageError>?, Bool) in
            if state.isCancelled { return (.failure(.cancelled(.init("the body was cancelled"))), false) }
            if !state.buffer.isEmpty {
                defer { state.isFull = false }
                return (.success(state.takeBuffer()), state.isFull)
            }
            if let end = state.end { return (end.map { nil }, false) }
            precondition(state.waiter == nil, "a ResponseBody has one consumer")
            state.waiter = waiter
            return (nil, false)
        }
        if drained { onDrain() }
        return answer
    }

    /// Whether the consumer waits for bytes.
    package var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    /// Whether no byte will be added any more.
    package var isFinished: Bool { state.withLock { $0.end != nil || $0.isCancelled } }

    /// Ends the body with an error of the consumer's side (a deadline, a limit) and stops the transfer.
    package func abort(_ error: ImageError) {
        guard !isFinished else { return }
        finish(error)
        onCancel()
    }

    /// Stops the transfer and drops what waits. Safe from any thread, more than once, and after the end.
    public func cancel() {
        let (waiter, unfinished) = state.withLock {
            state -> (Waiter?, Bool) in
            guard !state.isCancelled else { return (nil, false) }
            state.isCancelled = true
            state.buffer = []
            defer { state.waiter = nil }
            return (state.waiter, state.end == nil)
        }
        waiter?.resume(returning: .failure(.cancelled(.init("the body was cancelled"))))
        if unfinished { onCancel() }
    }
}
