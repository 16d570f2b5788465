import Foundation
import TestSupport
import Testing

@testable import Larder

struct KeyLockTests {
    private let directory = TemporaryDirectory()
    private let executor = BlockingExecutor(name: "test", width: 2)
    private let key = DiskFixtures.key(1)

    @Test func oneFetchesAndTheOtherWaitsAndReads() async throws {
        let first = try DiskTier(directory: directory.path)
        let time = ManualTime()
        let second = try DiskTier(directory: directory.path, time: time)
        let lock = try #require(first.tryLock(for: key))
        #expect(second.tryLock(for: key) == nil)
        // A variant's lock and another key's are their own.
        #expect(second.tryLock(for: key.variant("64")) != nil)
        async let waiting = second.lock(for: key, deadline: time.monotonic + 60_000_000_000, on: executor)
        await time.sleepers(1)
        try DiskFixtures.store(first, key, [1, 2, 3])
        lock.release()
        time.advance(seconds: 1)
        let held = try await waiting
        #expect(held != nil)
        #expect(try second.entry(for: key)?.payload() == [1, 2, 3])
        #expect(first.tryLock(for: key) == nil)
        held?.release()
        #expect(first.tryLock(for: key) != nil)
    }

    /// As a network file system may refuse it: the lock goes with its descriptor.
    @Test func aLockThatCannotBeGivenBackEndsAllTheSame() throws {
        let files = FaultyFileSystem()
        let first = try DiskTier(directory: directory.path, fileSystem: files)
        let second = try DiskTier(directory: directory.path)
        let other = first.tryLock(for: key.variant("64"))
        let lock = try #require(first.tryLock(for: key))
        files.keepLocks()
        lock.release()
        files.heal()
        // The descriptor lives as long as another lock is held on it.
        #expect(second.tryLock(for: key) == nil)
        other?.release()
        #expect(second.tryLock(for: key) != nil)
        #expect(first.tryLock(for: key.variant("64")) != nil)
    }

    @Test func nobodyWaitsLongerThanItsDeadline() async throws {
        let time = ManualTime(sleepsAdvance: true)
        let tier = try DiskTier(directory: directory.path, time: time)
        let lock = tier.tryLock(for: key)
        #expect(lock != nil)
        let started = time.monotonic
        #expect(try await tier.lock(for: key, deadline: started + 3_000_000_000, on: executor) == nil)
        #expect(time.monotonic - started <= 3_000_000_001)
        lock?.release()
    }

    @Test func waitingCanBeCancelled() async throws {
        let time = ManualTime()
        let tier = try DiskTier(directory: directory.path, time: time)
        let lock = tier.tryLock(for: key)
        let task = Task { [key, executor] in
            try await tier.lock(for: key, deadline: .max, on: executor)
        }
        await time.sleepers(1)
        task.cancel()
        await #expect(throws: ImageError.self) { try await task.value }
        lock?.release()
        #expect(tier.tryLock(for: key) != nil)
    }

    /// Where no lock is to be had everybody fetches.
    @Test func withoutLocksNobodyWaits() throws {
        let files = FaultyFileSystem()
        let tier = try DiskTier(directory: directory.path, fileSystem: files)
        tier.reconcile()
        files.fail(.lock, code: ENOLCK)
        #expect(tier.tryLock(for: key) != nil)
        #expect(tier.tryLock(for: key) != nil)
    }
}
