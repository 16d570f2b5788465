import Foundation
import Larder

extension Bench {
    /// What a commit evicts, and the bare side unlinks.
    ///
    /// At the limit of a real cache the least recently used goes: it was stored long ago, so it is on the device, and
    /// taking it away costs what giving its blocks back costs. Both sides therefore unlink files that `fill` made and
    /// that were synced since. Files of a moment ago, which no device has seen, cost next to nothing to unlink; with
    /// those only the calls are compared, and SHA-256 alone outweighs the whole bare loop.
    enum Age {
        case onDevice, young
    }

    /// A bare write, rename and unlink of an older file, against a commit that evicts one, the index's work counted: it
    /// is flushed within our time. In turns of 512, so that what else the machine does falls on both.
    func commits(_ size: Int, target: Double) throws -> Figure {
        let rounds = arguments.number("rounds", 7)
        let number = size > 50_000 ? 512 : 2048
        let body = OriginImages.bytes(size, 99)
        let bare = try BareFolder(beside: arguments.directory)
        defer { bare.remove() }
        let opened = try tier()
        let count = try opened.recount().count
        opened.close()
        // The limit is what is there: every commit evicts one.
        let tier = try tier { $0.maximumCount = count }
        tier.reconcile()
        var old = OldFiles(beside: arguments.directory)
        let age: Age = old.count >= rounds * number ? .onDevice : .young
        for index in 0..<64 { bare.store(index, body, removing: nil) }
        var next = 64
        let result = try compare(
            rounds: rounds, number: number,
            bare: {
                bare.store(next, body, removing: age == .onDevice ? old.take() : bare.path(next - 64))
                next += 1
            }, ours: { try store(tier, size, $0, body) }, flush: { tier.flush() })
        tier.close()
        return Figure(
            "commit of \(size) bytes that evicts one, against write, rename, unlink"
                + (age == .onDevice ? "" : "; none of it on the device yet"), result.ratios, " times",
            target: age == .onDevice ? target : nil, note: result.note)
    }

    /// The same where there is room: what storing an image costs in a cache that is not full.
    func commitsWithRoom(_ size: Int) throws -> Figure {
        let body = OriginImages.bytes(size, 99)
        let bare = try BareFolder(beside: arguments.directory)
        defer { bare.remove() }
        let tier = try tier()
        tier.reconcile()
        var next = 0
        let result = try compare(
            rounds: arguments.number("rounds", 7), number: size > 50_000 ? 512 : 1024,
            bare: {
                bare.store(next, body, removing: nil)
                next += 1
            }, ours: { try store(tier, size, $0, body) }, flush: { tier.flush() })
        tier.close()
        return Figure(
            "commit of \(size) bytes with room, against write, rename", result.ratios, " times", target: nil,
            note: result.note)
    }

    private func store(_ tier: DiskTier, _ size: Int, _ number: Int, _ body: [UInt8]) throws {
        let key = CacheKey(url: "https://bench.example/\(getpid())/\(SystemTime().monotonic)/\(size)/\(number).jpg")
        let writer = try tier.begin(key)
        // In one piece, as a fetch hands it over.
        try body.withUnsafeBytes { try writer.append($0) }
        if try !writer.commit(OriginImages(largest: 0).metadata(key)).isStored { fail("not stored") }
    }

    private func compare(
        rounds: Int, number: Int, bare: () -> Void, ours: (Int) throws -> Void, flush: () -> Void
    ) throws -> (ratios: [Double], note: String) {
        let turn = 512
        var ratios: [Double] = []
        var best = (bare: Double.infinity, ours: Double.infinity)
        var done = 0
        for _ in 0..<rounds {
            var sum = (bare: 0.0, ours: 0.0)
            for _ in 0..<number / turn {
                sum.bare += time { for _ in 0..<turn { bare() } }
                sum.ours += try time {
                    for _ in 0..<turn {
                        try ours(done)
                        done += 1
                    }
                    flush()
                }
            }
            ratios.append(sum.ours / sum.bare)
            let each = Double(number) / 1e6
            best = (min(best.bare, sum.bare / each), min(best.ours, sum.ours / each))
        }
        return (ratios, "best \(text(best.ours, 1)) against \(text(best.bare, 1)) µs")
    }
}
