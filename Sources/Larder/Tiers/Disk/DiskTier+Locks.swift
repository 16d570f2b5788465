/// The right to fetch a key, among all processes on a directory. It ends when it is released or dropped, and with
/// its process, however that ends.
package final class KeyLock: Sendable {
    /// nil where the directory has no locks to give (read-only): then everybody fetches.
    private let held: LockFile.Held?

    init(_ held: LockFile.Held?) { self.held = held }

    package func release() { held?.release() }
}

extension DiskTier {
    /// Takes the right to fetch a key where nobody else has it; nil where somebody else, here or in another
    /// process, holds it. Blocks for a few system calls.
    ///
    /// Who needs two takes the source's before the variant's.
    package func tryLock(for key: CacheKey) -> KeyLock? {
        do throws(SystemError) {
            guard let held = try volume.locks.tryHold(key: key.hash) else { return nil }
            return KeyLock(held)
        } catch {
            // Better fetched twice than not at all.
            return KeyLock(nil)
        }
    }

    /// Waits for the right to fetch a key, then look the key up again: whoever held it may have stored it.
    ///
    /// - Parameters:
    ///   - deadline: monotonic nanoseconds of the tier's time source.
    ///   - executor: where the few system calls of each try run.
    /// - Returns: nil where the deadline passed first.
    /// - Throws: ``ImageError/cancelled(_:)``.
    package func lock(
        for key: CacheKey, deadline: UInt64, on executor: BlockingExecutor
    ) async throws(ImageError) -> KeyLock? {
        var pause = 0.002
        while true {
            let lock = try await executor.run { [self] () throws(ImageError) in tryLock(for: key) }
            if let lock { return lock }
            let now = time.monotonic
            guard now < deadline else { return nil }
            do {
                try await time.sleep(seconds: min(pause, Double(deadline - now) / 1e9))
            } catch {
                throw .cancelled(.init("cancelled while another process fetches it", url: key.url))
            }
            pause = min(pause * 1.5, 0.05)
        }
    }
}
