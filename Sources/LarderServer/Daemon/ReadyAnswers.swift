import CMicroHTTPD
import Larder

/// An answer that is laid out for libmicrohttpd already, given again to plain requests while its lease holds.
final class ReadyAnswer: @unchecked Sendable {
    // Sendable: nothing changes after `init`, and libmicrohttpd counts a response's users under a lock of its own.
    let request: Request
    let answer: Answer
    let response: OpaquePointer
    /// Bytes that it holds in memory.
    let held: Int
    private let target: String
    private let host: [UInt8]
    private let lease: AnswerLease

    /// nil where memory or descriptors are used up.
    init?(_ plain: PlainRequest, _ request: Request, _ answer: Answer, lease: AnswerLease, maxHeld: Int) {
        var kept = answer
        if case .entry(let entry, let offset, let length) = answer.body, length <= maxHeld {
            // One call then sends head and body; the bytes are checked as they are read.
            guard offset == 0, let bytes = try? entry.payload(), bytes.count == length else { return nil }
            kept.body = .bytes(bytes)
        }
        guard let response = Wire.response(kept) else { return nil }
        if case .bytes(let bytes) = kept.body { held = bytes.count } else { held = 0 }
        self.request = request
        self.answer = answer
        self.response = response
        self.lease = lease
        target = plain.target
        host = Array(plain.host)
    }

    deinit { MHD_destroy_response(response) }

    func isExpired(now: UInt64) -> Bool { lease.until <= now }

    func fits(_ plain: PlainRequest, now: UInt64) -> Bool {
        !isExpired(now: now) && target == plain.target && host.elementsEqual(plain.host) && lease.holds()
    }
}

/// The answers that are asked for again and again, ready to be sent. Bounded in number and in bytes; what nobody asks
/// for goes within seconds.
final class ReadyAnswers: Sendable {
    private struct State {
        var answers: [Int: ReadyAnswer] = [:]
        var held = 0
        // What was asked for once; two generations, of which the older goes as a whole.
        var young: Set<Int> = []
        var old: Set<Int> = []
    }

    static let maxCount = 1024
    static let maxHeld = 32 << 20
    private let state = Lock(State())

    func answer(to plain: PlainRequest, now: UInt64) -> ReadyAnswer? {
        guard let found = state.withLock({ $0.answers[plain.hash] }), found.fits(plain, now: now) else { return nil }
        return found
    }

    /// Whether it was asked for before, for only then is it worth keeping, and there is room for it.
    func isWanted(_ hash: Int, holding bytes: Int) -> Bool {
        state.withLock { state in
            let (isKnown, others) = (state.answers[hash] != nil, state.held - (state.answers[hash]?.held ?? 0))
            guard others + bytes <= Self.maxHeld, isKnown || state.answers.count < Self.maxCount else { return false }
            if isKnown || state.young.contains(hash) { return true }
            if state.young.count >= 4 * Self.maxCount {
                state.old = state.young
                state.young = []
            }
            state.young.insert(hash)
            return state.old.contains(hash)
        }
    }

    func insert(_ answer: ReadyAnswer, _ hash: Int) {
        // What goes is let go of behind the lock: it may close a file.
        _ = state.withLock { state -> ReadyAnswer? in
            let former = state.answers.updateValue(answer, forKey: hash)
            state.held += answer.held - (former?.held ?? 0)
            return former
        }
    }

    /// Lets go of those whose lease is over.
    func removeExpired(now: UInt64) {
        _ = state.withLock { state -> [ReadyAnswer] in
            let expired = state.answers.filter { $0.value.isExpired(now: now) }
            for (hash, answer) in expired {
                state.answers[hash] = nil
                state.held -= answer.held
            }
            return Array(expired.values)
        }
    }

    func removeAll() {
        _ = state.withLock { state in
            defer { state = State() }
            return state.answers
        }
    }
}
