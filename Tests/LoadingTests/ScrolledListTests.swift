import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Larder

/// A list of 10,000 rows behind a network that takes 50 ms for each answer, over each transport: every row in view at rest
/// shows its own picture, and nothing runs on once the list has gone.
@Suite(.serialized, .timeLimit(.minutes(2))) struct ScrolledListTests {
    private static let rows = 10_000
    private static let visible = 20

    /// A picture whose size tells its row.
    private static func size(_ row: Int) -> (width: Int, height: Int) { (1 + row % 100, 1 + row / 100) }

    private static func picture(_ target: String) -> OriginReply {
        guard let row = Int(target.dropFirst()), (0..<rows).contains(row) else { return .status(404) }
        let (width, height) = size(row)
        let bitmap = try? Bitmap(width: width, height: height, hasAlpha: false) { pixels, _ throws(ImageError) in
            for index in pixels.indices { pixels[index] = index % 4 == 3 ? 255 : UInt8(row % 256) }
        }
        guard let bitmap, let bytes = try? ImageEncoder.png(bitmap) else { return .status(500) }
        let answer = OriginReply.ok(bytes, [("Cache-Control", "max-age=60")])
        return OriginReply([.pause(50)] + answer.steps)
    }

    /// What an application draws: a screen of rows that are used again for what scrolls into view.
    private final class List {
        let origin: Origin
        let loader: ImageLoader
        private let views: [RemoteImage]
        private var window = ListWindow()
        private var ahead: [Int: ImageTask] = [:]

        init(_ origin: Origin, _ loader: ImageLoader) {
            self.origin = origin
            self.loader = loader
            let queue = DispatchQueue(label: "list")
            views = (0..<ScrolledListTests.visible).map { _ in
                RemoteImage(loader: loader) { work in queue.async(execute: work) }
            }
        }

        func view(_ row: Int) -> RemoteImage { views[row % views.count] }

        func scroll(to top: Int) {
            let shown = top..<(top + ScrolledListTests.visible)
            let change = window.update(visible: shown, count: ScrolledListTests.rows)
            for row in change.cancel { ahead.removeValue(forKey: row)?.cancel() }
            for row in shown {
                view(row).load(ImageRequest(url: origin.url("/\(row)"), priority: .high))
                ahead.removeValue(forKey: row)
            }
            for row in change.prefetch where !shown.contains(row) && ahead[row] == nil {
                ahead[row] = loader.task(for: ImageRequest(url: origin.url("/\(row)"), priority: .low))
            }
        }

        func close() {
            _ = window.reset()
            for view in views { view.cancel() }
            for task in ahead.values { task.cancel() }
            ahead = [:]
        }
    }

    @Test(arguments: TransportKind.network)
    func aFlingAndThreeRests(_ kind: TransportKind) async throws {
        let origin = try Origin()
        origin.otherwise { Self.picture($0.target) }
        let directory = TemporaryDirectory()
        var configuration = ImageLoader.Configuration()
        configuration.transport = kind.make()
        configuration.cacheDirectory = directory.path
        configuration.deadlines = Deadlines(connect: 3600, idle: 3600, total: 3600)
        let loader = try ImageLoader(configuration)
        let list = List(origin, loader)
        for rest in [0, 4_990, Self.rows - Self.visible] {
            for top in stride(from: max(0, rest - 4_990), through: rest, by: 250) { list.scroll(to: top) }
            list.scroll(to: rest)
            for row in rest..<(rest + Self.visible) {
                let view = list.view(row)
                while view.phase.isEmpty { try await Task.sleep(nanoseconds: 2_000_000) }
                let size = Self.size(row)
                #expect(view.phase.image?.bitmap.width == size.width, "row \(row): \(view.phase)")
                #expect(view.phase.image?.bitmap.height == size.height)
            }
        }
        list.close()
        while loader.fetcher.flightCount > 0 { try await Task.sleep(nanoseconds: 2_000_000) }
        while !directory.files(under: "tmp").isEmpty { try await Task.sleep(nanoseconds: 2_000_000) }
    }
}
