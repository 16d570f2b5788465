import Foundation
import TestSupport
import Testing

@testable import Larder

/// Who goes first, how much goes at once, and what is left of what was given up.
@Suite(.timeLimit(.minutes(2))) struct SchedulingTests {
    typealias Fixture = ImageLoaderTests.Fixture

    static func request(_ name: String, _ priority: ImagePriority = .normal) throws -> ImageRequest {
        ImageRequest(url: try #require(URL(string: "http://img.example/\(name)")), priority: priority)
    }

    /// One fetch at a time; the first is held until the valve is opened.
    struct Line {
        let valve = ScriptedTransport.Valve()
        let fixture: Fixture
        let first: ImageTask

        init() async throws {
            let png = try ImageLoaderTests.png()
            fixture = try Fixture(
                hasDisk: false, change: { $0.maxFetches = 1 },
                script: { [valve] _, _ in ScriptedTransport.Reply.ok(png).ending(.held(valve)) })
            first = fixture.loader.task(for: try SchedulingTests.request("first"))
            await fixture.transport.requests(atLeast: 1)
        }

        /// Stands in line when this returns.
        func add(_ name: String, _ priority: ImagePriority) async throws -> ImageTask {
            let waiting = fixture.loader.fetcher.limiter.counts.waiting
            let task = fixture.loader.task(for: try SchedulingTests.request(name, priority))
            while fixture.loader.fetcher.limiter.counts.waiting == waiting, !Task.isCancelled { await Task.yield() }
            return task
        }

        /// The names in the order in which they were asked for.
        func order(_ tasks: [ImageTask]) async throws -> [String] {
            valve.open()
            for task in [first] + tasks { _ = try await task.image }
            return fixture.transport.requests.dropFirst().map(\.url.lastPathComponent)
        }
    }

    @Test func whatIsVisibleOvertakesWhatIsPrefetched() async throws {
        let line = try await Line()
        let tasks = [
            try await line.add("disk", .veryLow), try await line.add("soon", .low), try await line.add("later", .low),
            try await line.add("visible", .high),
        ]
        #expect(try await line.order(tasks) == ["visible", "soon", "later", "disk"])
    }

    @Test func aPriorityRaisedOrLoweredWhileItWaitsCounts() async throws {
        let line = try await Line()
        let tasks = [
            try await line.add("a", .normal), try await line.add("b", .normal), try await line.add("c", .normal),
        ]
        tasks[2].priority = .veryHigh
        tasks[0].priority = .low
        #expect(try await line.order(tasks) == ["c", "b", "a"])
    }

    @Test func aPrefetchThatAVisibleRowJoinsIsVisibleUntilTheRowLeaves() async throws {
        for leaves in [false, true] {
            let line = try await Line()
            let prefetch = try await line.add("shared", .low)
            let other = try await line.add("other", .normal)
            let row = line.fixture.loader.task(for: try Self.request("shared", .high))
            if leaves { row.cancel() }
            #expect(try await line.order([prefetch, other]) == (leaves ? ["other", "shared"] : ["shared", "other"]))
        }
    }

    /// Another size of the same image is another load and the same fetch.
    @Test func noInversionWhereOnlyTheFetchIsShared() async throws {
        let line = try await Line()
        let prefetch = try await line.add("shared", .low)
        let other = try await line.add("other", .normal)
        var request = try Self.request("shared", .normal)
        request.thumbnail = ThumbnailSize("10")
        let row = line.fixture.loader.task(for: request)
        while line.fixture.loader.events.counters.coalesced == 0, !Task.isCancelled { await Task.yield() }
        row.priority = .high
        #expect(try await line.order([prefetch, other, row]) == ["shared", "other"])
    }

    @Test func onlySoManyFetchesAtOnceInAllAndToOneHost() async throws {
        let png = try ImageLoaderTests.png()
        let valve = ScriptedTransport.Valve()
        let fixture = try Fixture(
            hasDisk: false,
            change: {
                $0.maxFetches = 5
                $0.maxFetchesPerHost = 2
            }, script: { _, _ in ScriptedTransport.Reply.ok(png).ending(.held(valve)) })
        let tasks = try (0..<24).map { number in
            fixture.loader.task(
                for: ImageRequest(url: try #require(URL(string: "http://h\(number % 4).example/\(number)"))))
        }
        await fixture.transport.requests(atLeast: 5)
        while fixture.loader.fetcher.limiter.counts.waiting < 19, !Task.isCancelled { await Task.yield() }
        #expect(fixture.transport.requests.count == 5)
        let hosts = Dictionary(grouping: fixture.transport.requests, by: { $0.url.host ?? "" })
        #expect(hosts.values.allSatisfy { $0.count <= 2 })
        valve.open()
        for task in tasks { _ = try await task.image }
        #expect(fixture.transport.mostRunning <= 5)
    }

    @Test func onlySoManyDecodesAndBytesAtOnce() async throws {
        func most(_ maxDecodes: Int, _ maxBytes: Int, bytes: Int) async throws -> Int {
            let queue = DecodeQueue(maxDecodes: maxDecodes, maxBytes: maxBytes)
            let header = ImageHeader(format: .png, width: 512, height: 512)
            let running = Lock((now: 0, most: 0))
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        try await queue.run(header: header, bytes: bytes, priority: SharedPriority()) {
                            (_) throws(ImageError) in
                            running.withLock { running in
                                running.now += 1
                                running.most = max(running.most, running.now)
                            }
                            sched_yield()
                            running.withLock { $0.now -= 1 }
                        }
                    }
                }
                try await group.waitForAll()
            }
            return running.withLock { $0.most }
        }
        // A decode of 512 x 512 holds 1 MiB.
        #expect(try await most(3, 1 << 30, bytes: 0) <= 3)
        #expect(try await most(4, 3 << 20, bytes: 0) <= 3)
        #expect(try await most(4, 3 << 20, bytes: 1 << 20) == 1)
        #expect(try await most(4, 1, bytes: 0) == 1, "one may always run")
    }

    /// Two threads; a large decode runs and another waits for memory: what is more urgent and fits is not held up.
    @Test func aDecodeThatWaitsForMemoryHoldsNoThread() async throws {
        let queue = DecodeQueue(maxDecodes: 2, maxBytes: 5 << 20)
        func header(_ mebibytes: Int) -> ImageHeader {
            ImageHeader(format: .png, width: 512, height: 512 * mebibytes)
        }
        let end = DispatchSemaphore(value: 0)
        let (started, start) = AsyncStream.makeStream(of: Void.self)
        let running = Task {
            try await queue.run(header: header(3), priority: SharedPriority(.low)) { (_) throws(ImageError) in
                start.yield()
                end.wait()
            }
        }
        _ = await started.first { _ in true }
        let waiting = Task {
            try await queue.run(header: header(3), priority: SharedPriority(.low)) { (_) throws(ImageError) in }
        }
        while queue.waiting == 0, !Task.isCancelled { await Task.yield() }
        try await queue.run(header: header(1), priority: SharedPriority(.high)) { (_) throws(ImageError) in }
        #expect(queue.waiting == 1)
        end.signal()
        try await running.value
        try await waiting.value
    }

    @Test func twoThousandStartsAndCancelsLeaveNothing() async throws {
        let fixture = try Fixture { _, _ in
            ScriptedTransport.Reply.ok(SampleImage.pngBeginning).ending(.held(ScriptedTransport.Valve()))
        }
        let loader = fixture.loader
        for number in 0..<2000 {
            let task = loader.task(for: try Self.request("\(number % 500)", number % 2 == 0 ? .high : .low))
            if number % 3 == 0 { await Task.yield() }
            task.cancel()
        }
        // A load that was given up ends a little later.
        var counters = loader.events.counters
        while counters.started != counters.cancelled + counters.failed || loader.fetcher.limiter.counts.running > 0,
            !Task.isCancelled
        {
            await Task.yield()
            counters = loader.events.counters
        }
        #expect(loader.flightCount == 0 && loader.fetcher.flightCount == 0)
        #expect(loader.fetcher.limiter.counts.waiting == 0)
        #expect(loader.fetcher.limiter.counts.hosts == 0)
        #expect(loader.decoding.waiting == 0)
        #expect(fixture.temporaryFiles.isEmpty)
        #expect(loader.memory.statistics.count == 0)
        #expect(counters.started > 0 && counters.finished == 0 && counters.decoded == 0)
    }
}
