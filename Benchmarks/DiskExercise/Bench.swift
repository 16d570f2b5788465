import Foundation
import Larder

/// The cost of a hit and of a commit at the limit, as ratios over the bare system calls in the same run; the time
/// from opening a directory to the first answer; and the memory of it all. Run on a directory made by `fill`.
struct Bench {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() -> Never {
        do {
            let count = arguments.number("count", 1_000_000)
            say("| what | median (range) | target | | |\n| --- | --- | --- | --- | --- |")
            var isMet = true
            func show(_ figure: Figure) {
                say(figure.row)
                isMet = isMet && figure.isMet
            }
            if arguments.number("opening", 1) == 1 {
                show(try opening("open to first answer, with an index", count, target: 50) {})
                show(try opening("open to first answer, without an index", count, target: 100) { try removeIndex() })
                try removeIndex()
                say("| index made anew behind it | \(try rebuild(count)) | | | |")
            }
            if arguments.number("hits", 1) == 1 {
                let tier = try tier()
                // Nothing goes on behind.
                tier.reconcile()
                for size in sizes {
                    show(try hits(size, tier, plain: false))
                    show(try hits(size, tier, plain: true))
                }
                show(try turns(tier))
                tier.close()
            }
            if arguments.number("room", 0) == 1 { for size in sizes { show(try commitsWithRoom(size)) } }
            if arguments.number("commits", 1) == 1 {
                for size in sizes { show(try commits(size, target: size > 50_000 ? 2 : 3)) }
            }
            show(Figure("resident memory of all this", [Double(peak())], " MB", target: 150, digits: 0))
            exit(isMet ? 0 : 1)
        } catch {
            fail("\(error)")
        }
    }

    private var sizes: [Int] {
        let only = arguments.number("size", 0)
        return only > 0 ? [only] : [4096, 100_000]
    }

    private func removeIndex() throws {
        let state = arguments.directory + "/state"
        for name in try FileManager.default.contentsOfDirectory(atPath: state) where name.hasPrefix("index") {
            try FileManager.default.removeItem(atPath: state + "/" + name)
        }
    }

    func time(_ body: () throws -> Void) rethrows -> Double {
        let start = SystemTime().monotonic
        try body()
        return Double(SystemTime().monotonic - start) / 1e9
    }

    func text(_ number: Double, _ digits: Int = 2) -> String { String(format: "%.\(digits)f", number) }

    func tier(_ change: (inout DiskTierConfiguration) -> Void = { _ in }) throws -> DiskTier {
        var configuration = DiskTierConfiguration()
        configuration.maximumBytes = 1 << 40
        configuration.maximumCount = 100_000_000
        change(&configuration)
        return try DiskTier(directory: arguments.directory, configuration: configuration)
    }

    private func peak() -> Int {
        var usage = rusage()
        getrusage(0, &usage)
        return usage.ru_maxrss / 1024
    }

    private func opening(
        _ what: String, _ count: Int, target: Double, _ prepare: () throws -> Void
    ) throws -> Figure {
        var rounds: [Double] = []
        for round in 0..<arguments.number("rounds", 7) {
            try prepare()
            var answer: StoredEntry?
            var opened: DiskTier?
            let number = (count / 2 + round * 7919) % count
            let seconds = try time {
                let tier = try tier()
                answer = tier.entry(for: Fill.key(number))
                opened = tier
            }
            guard answer != nil else { fail("entry \(number) is not there") }
            opened?.close()
            rounds.append(seconds * 1000)
        }
        return Figure(what, rounds, " ms", target: target)
    }

    private func rebuild(_ count: Int) throws -> String {
        let tier = try tier()
        let seconds = time { _ = tier.waitForIndex() }
        guard try tier.count() >= count else { fail("the index knows \(try tier.count()) of \(count)") }
        return "\(text(seconds, 1)) s, peak \(peak()) MB"
    }
}
