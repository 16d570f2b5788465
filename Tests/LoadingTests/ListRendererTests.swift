import Foundation
import TestSupport
import Testing

@testable import Larder

/// A list of 10,000 rows with 20 in view, scrolled fast, back and forth, over an origin whose answers take 50 ms. The
/// clock is turned by the test: each step ends when nothing can happen before the next.
@Suite struct ListRendererTests {
    enum Way: String, CaseIterable, Sendable {
        case inMemory
        #if Curl
            case curl
        #endif

        func transport(_ origin: SlowOrigin) -> any Transport {
            switch self {
            case .inMemory: origin.transport
            #if Curl
                case .curl: CurlTransport()
            #endif
            }
        }
    }

    static let rows = 10_000
    static let inView = 20
    static let delay = 0.05
    static let step = 0.01

    /// What is scrolled: rows a second, for so many seconds; a jump before it, where there is one.
    static let moves: [(jump: Double?, velocity: Double, seconds: Double)] = [
        (nil, 0, 0.3), (nil, 60, 1.5), (nil, 3000, 0.8), (nil, 600, 0.5), (nil, 120, 0.5), (nil, 0, 0.3),
        (nil, -300, 0.3), (nil, 300, 0.3), (nil, -300, 0.3), (nil, 300, 0.3), (nil, -40, 0.5),
        (9980, 0, 0.4), (nil, -4000, 0.8), (nil, -1000, 0.4), (nil, -100, 0.6), (nil, 0, 0.3),
        (5000, 100, 1), (nil, -100, 1), (100, 0, 0.3), (nil, -50, 1), (nil, 0, 0.5),
    ]

    @Test(.timeLimit(.minutes(10)), arguments: Way.allCases) func tenThousandRows(way: Way) async throws {
        let directory = TemporaryDirectory()
        weak var loader: ImageLoader?
        var run: Run? = try Run(way, directory.path)
        loader = run?.loader
        try await run?.scroll()
        await run?.close()

        #expect(directory.files(under: "tmp").isEmpty)
        run = nil
        // Whatever still ran would hold it.
        while loader != nil, !Task.isCancelled { await Task.yield() }
    }

    final class Run {
        let time = ManualTime()
        let origin: SlowOrigin
        let loader: ImageLoader
        let list: RecyclingList
        let loop = RemoteImageTests.Loop()
        /// When each row in view came into view; nil once it has its picture.
        var since: [Int: UInt64?] = [:]
        /// Of the rows that had to wait, in seconds of the clock.
        var latencies: [Double] = []
        var everWanted = Set<Int>()
        /// The rows whose answers were let go while they were wanted, as they still are.
        var answered = Set<Int>()
        var memoryHits = 0

        init(_ way: Way, _ directory: String) throws {
            let origin = try SlowOrigin(delay: delay, time: time, listens: way != .inMemory)
            self.origin = origin
            var configuration = ImageLoader.Configuration()
            configuration.transport = way.transport(origin)
            configuration.cacheDirectory = directory
            configuration.memory.countLimit = 300
            configuration.memory.emptiesUnderPressure = false
            // The transport counts by another clock than the test: where the machine is slow or stops the process, answers
            // that are held back must not expire.
            configuration.deadlines = Deadlines(connect: 3600, idle: 3600, total: 3600)
            loader = try ImageLoader(configuration, time: time)
            let requests = (0..<rows).map { ImageRequest(url: origin.url(of: $0)) }
            list = RecyclingList(requests, loader: loader, deliver: loop.delivery)
        }

        func scroll() async throws {
            var top = 0.0
            for move in moves {
                top = move.jump ?? top
                for _ in 0..<Int(move.seconds / step) {
                    top = min(max(0, top + move.velocity * step), Double(rows - inView))
                    try await frame(Int(top)..<Int(top) + inView, move.velocity)
                }
            }
            #expect(list.cells.values.allSatisfy { $0.phase.image != nil }, "at rest every row has its picture")
            let sorted = latencies.sorted()
            let slow = try #require(sorted.dropLast(sorted.count / 100).last)
            #expect(sorted.count > 50)
            #expect(slow < 3 * delay, "99 of 100 rows wait less than three delays")
            #expect(memoryHits > 100, "what comes back is there at once")
            #expect(Set(origin.requested).isSubset(of: everWanted), "no row outside of the window is ever asked for")
            #expect(Set(origin.requested).count < everWanted.count, "a fast scroll passes rows by")
        }

        private func frame(_ visible: Range<Int>, _ velocity: Double) async throws {
            answered.formUnion(origin.advance(seconds: step))
            let before = origin.requested.count
            list.show(visible, velocity: velocity)
            everWanted.formUnion(list.window.wanted)
            answered.formIntersection(list.window.wanted)
            note(visible)
            try check()
            while !isSettled, !Task.isCancelled {
                loop.turn()
                try check()
                await Task.yield()
            }
            let wanted = list.window.wanted.count
            #expect(wanted <= inView + 120)
            #expect(loader.fetcher.flightCount <= wanted, "what is not wanted is not fetched")
            #expect(origin.requested.count - before <= wanted)
        }

        /// Which rows came into view, and which have left it without a picture though there was time: they count among
        /// those that waited.
        private func note(_ visible: Range<Int>) {
            let now = time.monotonic
            for (row, start) in since where !visible.contains(row) {
                if let start, Double(now - start) / 1e9 > 3 * delay { latencies.append(Double(now - start) / 1e9) }
                since[row] = nil
            }
            for row in visible where since[row] == nil {
                let isThere = list.cells[row]?.phase.image != nil
                if isThere { memoryHits += 1 }
                since[row] = .some(isThere ? nil : now)
            }
        }

        /// No cell shows another row's picture, at any moment.
        private func check() throws {
            for (row, cell) in list.cells {
                switch cell.phase {
                case .empty: continue
                case .failure(let error): throw error
                case .success(let image):
                    let shown = SlowOrigin.image(image.bitmap)
                    if shown != row { Issue.record("row \(row) shows the picture of row \(shown)") }
                    guard let start = since[row] ?? nil else { continue }
                    latencies.append(Double(time.monotonic - start) / 1e9)
                    since[row] = .some(nil)
                }
            }
        }

        /// Whether nothing more can happen before the clock is turned: every row in view has its picture, or its
        /// answer is held back by the origin, or as many others are as may be at once.
        private var isSettled: Bool {
            let held = origin.held.filter(list.window.wanted.contains)
            let isFull = held.count >= loader.configuration.maxFetches
            return list.cells.allSatisfy { row, cell in
                if !cell.phase.isEmpty || held.contains(row) { return true }
                // On its way to the screen, however long that takes.
                if answered.contains(row) { return false }
                if isFull { return true }
                let neighbours = held.count { $0 % 4 == row % 4 }
                return neighbours >= loader.configuration.maxFetchesPerHost
            }
        }

        /// Everything that was cancelled is gone.
        func close() async {
            await list.close()
            // A load that was given up ends a little later.
            while loader.flightCount > 0 || loader.fetcher.flightCount > 0 || loader.fetcher.limiter.counts.running > 0,
                !Task.isCancelled
            {
                await Task.yield()
            }
            #expect(loader.fetcher.limiter.counts.waiting == 0)
            #expect(loader.decoding.waiting == 0)
            let memory = loader.memory.statistics
            #expect(memory.count <= 300)
        }
    }
}
