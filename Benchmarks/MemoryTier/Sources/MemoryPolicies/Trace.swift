import Foundation
import Measuring

/// A sequence of requests: which image, and what it costs.
struct Trace {
    struct Request {
        var image: Int
        var cost: Int
    }

    var name: String
    var capacity: Int
    var requests: [Request]

    init(_ name: String, capacity: Int, _ images: [Int], cost: (Int) -> Int = { _ in 1 }) {
        self.name = name
        self.capacity = capacity
        requests = images.map { Request(image: $0, cost: cost($0)) }
    }
}

extension Trace {
    static func all() -> [Trace] {
        let zipf8 = zipf(alpha: 0.8, images: 10_000, count: 200_000, seed: 1)
        let zipf10 = zipf(alpha: 1.0, images: 10_000, count: 200_000, seed: 2)
        let entries = entering(scroll(steps: 40_000, rows: 2_000, seed: 3))
        let frames = everyFrame(scroll(steps: 20_000, rows: 2_000, seed: 4))
        let home = homeAndBack(visits: 300, seed: 5)
        return [
            Trace("Zipf 0.8", capacity: 500, zipf8),
            Trace("Zipf 1.0", capacity: 500, zipf10),
            Trace("Zipf 1.0, a scan of 1,000 every 5,000", capacity: 500, withScans(zipf10, every: 5_000, of: 1_000)),
            Trace("loop of 150 over room for 100", capacity: 100, (0..<30_000).map { $0 % 150 }),
            Trace("scroll, rows as they enter, room for 200", capacity: 200, entries),
            Trace("scroll, rows as they enter, room for 60", capacity: 60, entries),
            Trace("scroll, all rows every frame, room for 100", capacity: 100, frames),
            Trace("scroll, all rows every frame, room for 40", capacity: 40, frames),
            Trace("scroll, a scan of 1,000 every 2,000", capacity: 200, withScans(entries, every: 2_000, of: 1_000)),
            Trace("home screen of 20, visits elsewhere", capacity: 100, home),
            Trace(
                "scroll with thumbnails and large pictures, by bytes", capacity: 64 << 20, mixed(entries)
            ) { $0 >= large ? 6 << 20 : 256 << 10 },
        ]
    }

    private static let large = 1_000_000

    static func zipf(alpha: Double, images: Int, count: Int, seed: UInt64) -> [Int] {
        var random = SeededRandom(seed: seed)
        var sums: [Double] = []
        var sum = 0.0
        for rank in 1...images {
            sum += 1 / pow(Double(rank), alpha)
            sums.append(sum)
        }
        return (0..<count).map { _ in
            let point = random.unit() * sum
            var low = 0
            var high = images - 1
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] < point { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    /// Puts a run of images that are never asked for again after every so many requests.
    static func withScans(_ images: [Int], every: Int, of length: Int) -> [Int] {
        var next = 10_000_000
        var result: [Int] = []
        for (index, image) in images.enumerated() {
            result.append(image)
            if index % every == every - 1 {
                result.append(contentsOf: next..<next + length)
                next += length
            }
        }
        return result
    }

    /// First visible rows of a viewport of 20: a hand that flings, turns round, and sometimes goes to the top.
    static func scroll(steps: Int, rows: Int, seed: UInt64) -> [Int] {
        var random = SeededRandom(seed: seed)
        var top = 0
        var speed = 1
        var direction = 1
        return (0..<steps).map { _ in
            if random.unit() < 0.04 { direction = -direction }
            if random.unit() < 0.1 { speed = Int.random(in: 1...6, using: &random) }
            if random.unit() < 0.003 { top = 0 }
            if random.unit() < 0.001 { top = Int.random(in: 0..<rows - 20, using: &random) }
            top += direction * speed
            if top < 0 || top > rows - 20 { direction = -direction }
            top = min(max(0, top), rows - 20)
            return top
        }
    }

    /// A request for each row when it comes into view.
    static func entering(_ tops: [Int]) -> [Int] {
        var shown = 0..<0
        return tops.flatMap { top in
            defer { shown = top..<top + 20 }
            return (top..<top + 20).filter { !shown.contains($0) }
        }
    }

    /// A request for each visible row whenever the list is drawn.
    static func everyFrame(_ tops: [Int]) -> [Int] { tops.flatMap { Array($0..<$0 + 20) } }

    /// A screen of 20 pictures that is looked at between visits to screens of 10 to 120 new ones.
    static func homeAndBack(visits: Int, seed: UInt64) -> [Int] {
        var random = SeededRandom(seed: seed)
        var next = 1_000
        return (0..<visits).flatMap { _ in
            let visit = Int.random(in: 10...120, using: &random)
            defer { next += visit }
            return Array(0..<20) + Array(next..<next + visit)
        }
    }

    /// Opens the large picture of every 40th row.
    static func mixed(_ images: [Int]) -> [Int] {
        images.enumerated().flatMap { $0.offset % 40 == 39 ? [$0.element, large + $0.element] : [$0.element] }
    }
}
