/// One token bucket of bytes for all transfers together: `--limit-rate`.
///
/// Bytes are counted when they have come; whoever has passed the rate waits before it asks for more, first come, first
/// served. Up to an eighth of a second's bytes may come at once. Safe from any thread.
package final class RateLimiter: Sendable {
    private let bytesPerSecond: Double
    private let time: any TimeSource
    /// The monotonic time at which everything counted so far is paid for.
    private let paidUntil = Lock<UInt64>(0)

    private static let burst: UInt64 = 125_000_000

    /// - Parameter bytesPerSecond: at least 1.
    package init(bytesPerSecond: Int, time: any TimeSource = SystemTime()) {
        self.bytesPerSecond = Double(max(1, bytesPerSecond))
        self.time = time
    }

    /// Counts bytes, and suspends until the rate allows more.
    ///
    /// - Throws: ``ImageError/cancelled(_:)``.
    package func pass(_ bytes: Int) async throws(ImageError) {
        let now = time.monotonic
        let cost = UInt64(min(Double(max(0, bytes)) / bytesPerSecond * 1e9, 1e15))
        let wait = paidUntil.withLock { paid -> UInt64 in
            paid = max(paid, now) &+ cost
            let due = paid - now
            return due > Self.burst ? due - Self.burst : 0
        }
        guard wait > 0 else { return }
        do { try await time.sleep(seconds: Double(wait) / 1e9) } catch {
            throw .cancelled(.init("cancelled while the rate was kept"))
        }
    }
}
