/// A fetch's leave to ask one host: it goes on to the next host with each redirect, so that limits and rests hold for
/// every hop. Used by one fetch, one call at a time.
final class Turn {
    private let limiter: HostLimiter
    private let breaker: CircuitBreaker
    private let priority: SharedPriority
    /// Whom it is for now: what fails is laid to this origin's account.
    private var origin: String
    private var holdsPlace = false
    /// The breaker has given leave and waits to hear how it went.
    private var owesReport = true

    /// - Parameter origin: one that `breaker` has given leave to.
    init(_ origin: String, limiter: HostLimiter, breaker: CircuitBreaker, priority: SharedPriority) {
        self.origin = origin
        self.limiter = limiter
        self.breaker = breaker
        self.priority = priority
    }

    /// Waits for a place.
    func begin() async throws(ImageError) {
        try await limiter.acquire(origin, priority: priority)
        holdsPlace = true
    }

    /// The host has answered with a redirect: its place is free, and one at the next host is waited for.
    func move(to next: String) async throws(ImageError) {
        end(nil)
        origin = next
        try breaker.check(next)
        owesReport = true
        try await begin()
    }

    /// The exchange is over: with an answer, or with an error.
    func end(_ error: ImageError?) {
        if holdsPlace { limiter.release(origin) }
        holdsPlace = false
        guard owesReport else { return }
        owesReport = false
        if let error { breaker.failed(origin, error) } else { breaker.succeeded(origin) }
    }
}
