import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderServer

@Suite struct SharedDecodesTests {
    private let fixture: ServerFixture
    private let pool = WorkPool(name: "test", width: 1, queue: 100)
    private let metrics = Metrics()
    private let source: StoredEntry

    init() throws {
        fixture = try ServerFixture()
        source = try fixture.storePicture("https://example.com/a.png", width: 640, height: 480)
    }

    private func maker(queue: Int = 100) -> ThumbnailMaker {
        ThumbnailMaker(
            tier: fixture.tier, pool: pool, queue: queue, limits: ImageLimits(), time: fixture.time, metrics: metrics)
    }

    private func order(_ width: Int, quality: Int = 85) throws -> ThumbnailMaker.Order {
        try ThumbnailMaker.Order(source, Transformation(width: width, quality: quality), format: nil)
    }

    private func decodes() -> String {
        let text = String(decoding: metrics.text(.init()), as: UTF8.self)
        return String(text.split(separator: "\n").first { $0.hasPrefix("larder_thumbnail_decodes_total ") } ?? "")
    }

    /// Holds the pool's one thread until it is let go.
    private func occupy() async throws -> DispatchSemaphore {
        let semaphore = DispatchSemaphore(value: 0)
        Task { [pool] in try await pool.run { semaphore.wait() } }
        try await eventually("the thread is taken") { pool.running > 0 }
        return semaphore
    }

    @Test func sizesThatWaitTogetherShareADecode() async throws {
        let (maker, source) = (maker(), source)
        let semaphore = try await occupy()
        let tasks = try (1...8).map { index in
            let order = try order(16 * index, quality: 50 + index)
            return Task { try await maker.make(order, of: source, keeps: index % 2 == 0) }
        }
        try await eventually("all wait") { maker.waiting == 8 }
        semaphore.signal()
        for (index, task) in tasks.enumerated() {
            let image = try await task.value
            guard case .bytes = image.body else { continue }
            #expect(index % 2 == 0)
        }
        #expect(decodes() == "larder_thumbnail_decodes_total 1")
        // To the byte what each would be on its own.
        for index in 1...8 {
            let order = try order(16 * index, quality: 50 + index)
            let alone = try source.payload().withUnsafeBytes {
                try Thumbnailer.make($0, header: source.header, sizes: [order.size], output: order.output)
            }
            #expect(try await tasks[index - 1].value.sha256 == SHA256.digest(alone[0].bytes))
        }
    }

    @Test func whoLeavesCostsTheOthersNothing() async throws {
        let (maker, source) = (maker(), source)
        let semaphore = try await occupy()
        let orders = try (1...3).map { try order(20 * $0) }
        let tasks = orders.map { order in Task { try await maker.make(order, of: source, keeps: false) } }
        try await eventually("all wait") { maker.waiting == 3 }
        tasks[1].cancel()
        await #expect(throws: ImageError.self) { try await tasks[1].value }
        semaphore.signal()
        #expect(try await tasks[0].value.length > 0)
        #expect(try await tasks[2].value.length > 0)
        #expect(decodes() == "larder_thumbnail_decodes_total 1")
    }

    @Test func tooManyAreSentAway() async throws {
        let (maker, source) = (maker(queue: 2), source)
        let semaphore = try await occupy()
        let orders = try (1...3).map { try order(20 * $0) }
        let tasks = orders.prefix(2).map { order in Task { try await maker.make(order, of: source, keeps: false) } }
        try await eventually("both wait") { maker.waiting == 2 }
        let error = await #expect(throws: ImageError.self) { try await maker.make(orders[2], of: source, keeps: false) }
        #expect(error?.code == "refused")
        semaphore.signal()
        for task in tasks { #expect(try await task.value.length > 0) }
    }

    /// Where several sizes share a decode, each is to the byte what it is alone: only one reduction goes together.
    @Test func theReductionIsThatOfTheDecoder() throws {
        let header = ImageHeader(format: .jpeg, width: 1920, height: 1280)
        func reduction(_ width: Int) throws -> Int {
            Thumbnailer.reduction(for: try #require(ThumbnailSize(width: width, height: nil)), header: header)
        }
        #expect(try reduction(100) == 8)
        #expect(try reduction(120) == 8)
        #expect(try reduction(121) == 4)
        #expect(try reduction(256) == 2)
        #expect(try reduction(600) == 1)
        #expect(try reduction(1500) == 0)
    }
}
