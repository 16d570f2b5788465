import Foundation
import Testing

@testable import Larder

@Suite struct MemoryPressureTests {
    /// Asks within an expectation, where nothing may be mutated.
    private final class Asked {
        private var reader: MemoryPressureReader
        init(_ sources: MemoryPressureReader.Sources) { reader = MemoryPressureReader(sources) }
        func isPressed(after seconds: Double) -> Bool { reader.isPressed(after: seconds) }
    }

    /// Stands for the kernel's files.
    private final class Files: Sendable {
        let directory = FileManager.default.temporaryDirectory.path + "/larder-pressure-\(UUID().uuidString)"
        var sources: MemoryPressureReader.Sources {
            .init(events: directory + "/memory.events", stall: directory + "/memory.pressure")
        }

        init() throws {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: directory) }

        func events(high: Int = 0, max: Int = 0, oom: Int = 0, kills: Int = 0) throws {
            try "low 0\nhigh \(high)\nmax \(max)\noom \(oom)\noom_kill \(kills)\n".write(
                toFile: directory + "/memory.events", atomically: true, encoding: .utf8)
        }

        func stall(microseconds: Int) throws {
            let line = "avg10=0.00 avg60=0.00 avg300=0.00 total=\(microseconds)"
            try "some \(line)\nfull \(line)\n".write(
                toFile: directory + "/memory.pressure", atomically: true, encoding: .utf8)
        }

        func put(_ path: String, _ text: String) throws {
            let file = directory + path
            try FileManager.default.createDirectory(
                atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try text.write(toFile: file, atomically: true, encoding: .utf8)
        }
    }

    @Test func waitingForATenthOfTheTimeIsPressure() throws {
        let files = try Files()
        try files.events()
        try files.stall(microseconds: 5_000_000)
        let reader = Asked(files.sources)
        // What was before does not count.
        #expect(!reader.isPressed(after: 1))
        try files.stall(microseconds: 5_099_000)
        #expect(!reader.isPressed(after: 1))
        try files.stall(microseconds: 5_199_500)
        #expect(reader.isPressed(after: 1))
        #expect(!reader.isPressed(after: 1))
        // The same wait over a longer time is none.
        try files.stall(microseconds: 5_399_500)
        #expect(!reader.isPressed(after: 10))
    }

    /// The page cache of a container at its limit counts up `max` all day long.
    @Test func reclaimWithoutWaitingIsNone() throws {
        let files = try Files()
        try files.events()
        try files.stall(microseconds: 0)
        let reader = Asked(files.sources)
        try files.events(high: 50, max: 700)
        #expect(!reader.isPressed(after: 1))
    }

    @Test func withoutMeasuredWaitingTheCountersDecide() throws {
        let files = try Files()
        try files.events(high: 3, max: 1)
        let reader = Asked(.init(events: files.sources.events, stall: nil))
        #expect(!reader.isPressed(after: 1))
        try files.events(high: 4, max: 1)
        #expect(reader.isPressed(after: 1))
        #expect(!reader.isPressed(after: 1))
        try files.events(high: 4, max: 2)
        #expect(reader.isPressed(after: 1))
    }

    @Test(arguments: [(1, 0), (0, 1)]) func outOfMemoryAlwaysIs(oom: Int, kills: Int) throws {
        let files = try Files()
        try files.events()
        try files.stall(microseconds: 0)
        let reader = Asked(files.sources)
        try files.events(oom: oom, kills: kills)
        #expect(reader.isPressed(after: 1))
    }

    @Test func filesThatAreMissingOrNonsenseAreNoPressure() throws {
        let files = try Files()
        let reader = Asked(files.sources)
        #expect(!reader.isPressed(after: 1))
        // A file that appears has its past, too.
        try files.events(high: 9, max: 9, oom: 9)
        #expect(!reader.isPressed(after: 1))
        try files.put("/memory.events", "oom\nhigh -4\nmax 99999999999999999999999\n\u{0}")
        try files.put("/memory.pressure", "some total=x\n")
        #expect(!reader.isPressed(after: 1))
        let none = Asked(.init())
        #expect(!none.isPressed(after: 0))
    }

    @Test func findsTheGroupOfThisProcess() throws {
        let files = try Files()
        try files.put("/proc/self/cgroup", "4:memory:/other\n0::/user.slice/app.scope\n")
        try files.put(
            "/proc/self/mountinfo",
            """
            30 24 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:9 - cgroup cgroup rw,memory
            31 24 0:28 / /sys/fs/cgroup rw,nosuid shared:10 master:1 - cgroup2 cgroup2 rw
            """)
        try files.put("/proc/pressure/memory", "some total=0\n")
        let group = files.directory + "/sys/fs/cgroup/user.slice/app.scope"
        #expect(
            MemoryPressureReader.Sources.ofThisProcess(root: files.directory)
                == .init(events: nil, stall: files.directory + "/proc/pressure/memory"))
        try files.put("/sys/fs/cgroup/user.slice/app.scope/memory.events", "high 0\n")
        try files.put("/sys/fs/cgroup/user.slice/app.scope/memory.pressure", "some total=0\n")
        #expect(
            MemoryPressureReader.Sources.ofThisProcess(root: files.directory)
                == .init(events: group + "/memory.events", stall: group + "/memory.pressure"))
    }

    @Test func aContainersGroupIsTheRootOfItsMount() throws {
        let files = try Files()
        try files.put("/proc/self/cgroup", "0::/docker/abc\n")
        try files.put("/proc/self/mountinfo", "31 24 0:28 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n")
        try files.put("/sys/fs/cgroup/memory.events", "high 0\n")
        #expect(
            MemoryPressureReader.Sources.ofThisProcess(root: files.directory).events == files.directory
                + "/sys/fs/cgroup/memory.events")
    }

    /// Finishes its stream when the last who holds it lets go: the monitor's thread, as it ends.
    private final class Calls: Sendable {
        let continuation: AsyncStream<Void>.Continuation
        init(_ continuation: AsyncStream<Void>.Continuation) { self.continuation = continuation }
        deinit { continuation.finish() }
    }

    @Test func theThreadTellsOfPressureAndEndsWithItsMonitor() async throws {
        let files = try Files()
        try files.events()
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        var calls: Calls? = Calls(continuation)
        var monitor: MemoryPressureMonitor? = MemoryPressureMonitor(
            .init(events: files.sources.events, stall: nil), interval: 0.005
        ) { [calls] in _ = calls?.continuation.yield() }
        calls = nil
        // Counted up until it was seen, since the first look may come after the first count.
        let counting = Task {
            for high in 1... {
                try files.events(high: high)
                try await Task.sleep(nanoseconds: 1_000_000)
            }
        }
        for await _ in stream { break }
        counting.cancel()
        _ = try? await counting.value
        #expect(monitor != nil && calls == nil)
        monitor = nil
        for await _ in stream {}
    }

    @Test func theFirstPictureBeginsTheWatch() throws {
        let tier = MemoryTier(.init(emptiesUnderPressure: true))
        #expect(!tier.watchesPressure)
        tier.insert(try picture("a"))
        #expect(tier.watchesPressure)
        let without = MemoryTier(.init(emptiesUnderPressure: false))
        without.insert(try picture("a"))
        #expect(!without.watchesPressure)
    }

    @Test func pressureEmptiesTheTier() async throws {
        let files = try Files()
        try files.events()
        let tier = plainTier()
        for name in 0..<10 { tier.insert(try picture("\(name)")) }
        let (calls, continuation) = AsyncStream.makeStream(of: Void.self)
        let monitor = MemoryPressureMonitor(.init(events: files.sources.events, stall: nil), interval: 0.005) {
            [weak tier] in
            tier?.empty()
            continuation.yield()
        }
        let counting = Task {
            for kills in 1... {
                try files.events(kills: kills)
                try await Task.sleep(nanoseconds: 1_000_000)
            }
        }
        for await _ in calls { break }
        counting.cancel()
        withExtendedLifetime(monitor) { #expect(tier.statistics.count == 0) }
    }
}
