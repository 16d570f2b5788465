import Foundation
import Larder

/// Images that take their time, by a clock that the test turns: what a list sees of an origin that is far away.
///
/// The images are numbered, and each can tell its number. Over loopback it is a web server whose answers are held back
/// until the clock has moved on; in memory it is a transport.
package final class SlowOrigin: Sendable {
    private struct Held {
        let image: Int
        let due: UInt64
        let gate: Gate
    }

    private struct Sleeper {
        let image: Int
        let due: UInt64
        let continuation: Handover<Bool>
    }

    private struct State {
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var lastID = 0
        var requested: [Int] = []
        var held: [Int: Int] = [:]
        var gates: [Held] = []

        mutating func begin(_ image: Int) {
            requested.append(image)
            held[image, default: 0] += 1
        }

        mutating func end(_ image: Int) {
            let left = (held[image] ?? 0) - 1
            held[image] = left > 0 ? left : nil
        }
    }

    package let delay: Double
    private let time: ManualTime
    private let state = Lock(State())
    private let server: Origin?
    private let hosts: [String]

    /// - Parameters:
    ///   - delay: seconds from request to answer.
    ///   - listens: on loopback, for transports that use the network.
    package init(delay: Double, time: ManualTime, listens: Bool) throws {
        self.delay = delay
        self.time = time
        let addresses = (1...4).map { "127.0.0.\($0)" }
        server = listens ? try Origin(addresses: addresses) : nil
        hosts = listens ? addresses : (1...4).map { "img\($0).example" }
        server?.otherwise { [weak self] request in self?.answer(request) ?? .status(404) }
    }

    /// On one of four hosts.
    package func url(of image: Int) -> URL {
        let port = server.map { ":\($0.port)" } ?? ""
        return URL(string: "http://\(hosts[image % hosts.count])\(port)/\(image).png")!
    }

    /// Answers in this process, without a network.
    package var transport: any Transport { InMemory(origin: self) }

    /// Every image that was asked for, in order.
    package var requested: [Int] { state.withLock { $0.requested } }
    /// The images whose answers are held back now.
    package var held: Set<Int> { state.withLock { Set($0.held.keys) } }

    /// Turns the clock, and lets the answers go whose time has come: of these images.
    @discardableResult
    package func advance(seconds: Double) -> [Int] {
        time.advance(seconds: seconds)
        let now = time.monotonic
        let (due, woken) = state.withLock { state -> ([Held], [Sleeper]) in
            let due = state.gates.filter { $0.due <= now }
            state.gates.removeAll { $0.due <= now }
            for item in due { state.end(item.image) }
            let woken = state.sleepers.filter { $1.due <= now }
            for (id, sleeper) in woken {
                state.sleepers[id] = nil
                state.end(sleeper.image)
            }
            return (due, Array(woken.values))
        }
        for item in due { item.gate.open() }
        for sleeper in woken { sleeper.continuation.resume(returning: true) }
        return due.map(\.image) + woken.map(\.image)
    }

    package static func png(_ image: Int) throws(ImageError) -> [UInt8] {
        let bitmap = try Bitmap(width: 4, height: 4, hasAlpha: false) { (pixels, _) throws(ImageError) in
            for index in stride(from: 0, to: pixels.count, by: 4) {
                (pixels[index], pixels[index + 1]) = (UInt8(image >> 8 & 255), UInt8(image & 255))
                (pixels[index + 2], pixels[index + 3]) = (77, 255)
            }
        }
        return try ImageEncoder.png(bitmap)
    }

    /// The number of the image that these are the pixels of.
    package static func image(_ bitmap: Bitmap) -> Int { bitmap.withPixels { Int($0[0]) << 8 | Int($0[1]) } }

    private static func number(_ path: String) -> Int? { Int(path.dropFirst().prefix { $0.isNumber }) }
    private static let fields = [("Content-Type", "image/png"), ("Cache-Control", "max-age=86400")]

    private func answer(_ request: OriginRequest) -> OriginReply {
        guard let image = Self.number(request.target), let png = try? Self.png(image) else { return .status(404) }
        let gate = Gate()
        state.withLock { state in
            state.begin(image)
            state.gates.append(Held(image: image, due: time.monotonic + UInt64(delay * 1e9), gate: gate))
        }
        return OriginReply([.wait(gate)] + OriginReply.ok(png, [("Cache-Control", "max-age=86400")]).steps)
    }

    /// Waits for the answer to be due; false where the task was cancelled.
    private func waitForAnswer(_ image: Int) async -> Bool {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return await withTaskCancellationHandler {
            await withHandover { continuation in
                let isCancelled = state.withLock { state in
                    if state.cancelled.remove(id) != nil { return true }
                    let due = time.monotonic + UInt64(delay * 1e9)
                    state.begin(image)
                    state.sleepers[id] = Sleeper(image: image, due: due, continuation: continuation)
                    return false
                }
                if isCancelled { continuation.resume(returning: false) }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                guard let sleeper = state.sleepers.removeValue(forKey: id) else {
                    state.cancelled.insert(id)
                    return nil
                }
                state.end(sleeper.image)
                return sleeper
            }
            sleeper?.continuation.resume(returning: false)
        }
    }

    private struct InMemory: Transport {
        let origin: SlowOrigin
        var name: String { "slow" }

        func open(_ request: TransportRequest) async throws(ImageError) -> TransportResponse {
            guard let image = SlowOrigin.number(request.url.path) else { throw .unreachable(.init("no such image")) }
            guard await origin.waitForAnswer(image) else {
                throw .cancelled(.init("cancelled before the head came"))
            }
            let body = ResponseBody()
            let png = try SlowOrigin.png(image)
            _ = png.withUnsafeBytes { body.push($0) }
            body.finish()
            return TransportResponse(
                status: 200, fields: HTTPFields(SlowOrigin.fields.map { HTTPFields.Field($0, $1) }), httpVersion: "1.1",
                body: body)
        }
    }
}
