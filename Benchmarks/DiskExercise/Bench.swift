import Foundation
import Larder

/// The cost of a hit and of a commit at the limit, as ratios over the bare system calls in the same run; the time
/// from opening a directory to the first answer; and the memory of it all. Run on a directory made by `fill`.
struct Bench {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    /// One figure against its target.
    private struct Figure {
        let name: String
        let value: Double
        /// The least and the greatest of all rounds.
        var range: ClosedRange<Double>?
        let unit: String
        /// nil where the figure is only told.
        let target: Double?
        var note = ""
        var digits = 2

        init(_ name: String, _ rounds: [Double], _ unit: String, target: Double?, note: String = "", digits: Int = 2) {
            let sorted = rounds.sorted()
            self.name = name
            value = sorted[sorted.count / 2]
            range = sorted.count > 1 ? sorted[0]...sorted[sorted.count - 1] : nil
            self.unit = unit
            self.target = target
            self.note = note
            self.digits = digits
        }

        var isMet: Bool { target.map { value <= $0 } ?? true }

        /// A row of a table in Markdown.
        var row: String {
            func text(_ number: Double) -> String { String(format: "%.\(digits)f", number) }
            let range = range.map { " (\(text($0.lowerBound)) to \(text($0.upperBound)))" } ?? ""
            let aim = target.map { "at most \(String(format: "%g", $0))\(unit) | \(isMet ? "met" : "MISSED")" } ?? "|"
            return "| \(name) | \(text(value))\(unit)\(range) | \(aim) | \(note) |"
        }
    }

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
                for size in [4096, 100_000] { show(try hits(size, tier)) }
                show(try turns(tier))
                tier.close()
            }
            if arguments.number("commits", 1) == 1 {
                show(try commits(4096, target: 3))
                show(try commits(100_000, target: 2))
            }
            show(Figure("resident memory of all this", [Double(peak())], " MB", target: 150, digits: 0))
            exit(isMet ? 0 : 1)
        } catch {
            fail("\(error)")
        }
    }

    private func removeIndex() throws {
        let state = arguments.directory + "/state"
        for name in try FileManager.default.contentsOfDirectory(atPath: state) where name.hasPrefix("index") {
            try FileManager.default.removeItem(atPath: state + "/" + name)
        }
    }

    private func time(_ body: () throws -> Void) rethrows -> Double {
        let start = SystemTime().monotonic
        try body()
        return Double(SystemTime().monotonic - start) / 1e9
    }

    private func text(_ number: Double, _ digits: Int = 2) -> String { String(format: "%.\(digits)f", number) }

    private func tier(_ change: (inout DiskTierConfiguration) -> Void = { _ in }) throws -> DiskTier {
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

    // MARK: Hits

    /// A bare open, fstat, read of the same bytes and close, over plain files, against a hit with its payload.
    private func hits(_ size: Int, _ tier: DiskTier) throws -> Figure {
        let images = OriginImages(largest: 0)
        let number = 200
        let bare = arguments.directory + "/../bare-\(getpid())"
        try FileManager.default.createDirectory(atPath: bare, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: bare) }
        var paths: [String] = []
        var keys: [CacheKey] = []
        for index in 0..<number {
            let body = OriginImages.bytes(size, UInt64(index) + 1)
            let key = CacheKey(url: "https://bench.example/\(size)/\(index).jpg")
            let writer = try tier.begin(key)
            try body.withUnsafeBytes { try writer.append($0) }
            _ = try writer.commit(images.metadata(key))
            keys.append(key)
            let path = bare + "/\(index)"
            try Data(body).write(to: URL(fileURLWithPath: path))
            paths.append(path)
        }
        tier.flush()
        let rounds = arguments.number("rounds", 7)
        let repeats = size > 50_000 ? 20 : 60
        var ratios: [Double] = []
        var best = (bare: Double.infinity, ours: Double.infinity)
        for _ in 0..<rounds {
            let bareTime = time { for _ in 0..<repeats { for path in paths { bareRead(path, size) } } }
            let ourTime = try time {
                for _ in 0..<repeats {
                    for key in keys {
                        guard let entry = tier.entry(for: key), try entry.payload().count == size else {
                            fail("a hit was missed")
                        }
                    }
                }
            }
            ratios.append(ourTime / bareTime)
            let each = Double(number * repeats)
            best = (min(best.bare, bareTime / each * 1e6), min(best.ours, ourTime / each * 1e6))
        }
        for key in keys { tier.remove(key) }
        return Figure(
            "hit of \(size) bytes, against open, fstat, read", ratios, " times", target: 1.5,
            note: "best \(text(best.ours)) against \(text(best.bare)) µs")
    }

    private func bareRead(_ path: String, _ size: Int) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard file >= 0, fstat(file, &status) == 0 else { fail("bare file") }
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = read(file, buffer.baseAddress, size)
        }
        if bytes.count != size { fail("bare file") }
        close(file)
    }

    /// What a fetch pays so that other processes wait for it: a lock, one more look, and the release.
    private func turns(_ tier: DiskTier) throws -> Figure {
        let number = 5000
        let keys = (0..<number).map { CacheKey(url: "https://bench.example/turn/\($0).jpg") }
        var rounds: [Double] = []
        for _ in 0..<arguments.number("rounds", 7) {
            let seconds = time {
                for key in keys {
                    guard let lock = tier.tryLock(for: key), tier.entry(for: key) == nil else { fail("no turn") }
                    lock.release()
                }
            }
            rounds.append(seconds / Double(number) * 1e6)
        }
        return Figure("turn to fetch: lock, look again, release", rounds, " µs", target: nil)
    }

    // MARK: Commits

    /// A bare write, rename and unlink of an older file, against a commit that evicts, the index's work counted.
    /// What is evicted at the limit was stored long ago and is on the device; so is what the bare side unlinks, where
    /// `fill` has made it. Files that were never written out cost next to nothing to unlink, on both sides.
    private func commits(_ size: Int, target: Double) throws -> Figure {
        let rounds = arguments.number("rounds", 7)
        let number = size > 50_000 ? 500 : 2000
        let body = OriginImages.bytes(size, 99)
        let bare = arguments.directory + "/../bare-\(getpid())"
        try FileManager.default.createDirectory(atPath: bare, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: bare) }
        let opened = try tier()
        let count = try opened.recount().count
        opened.close()
        // The limit is what is there: every commit evicts one.
        let tier = try tier { $0.maximumCount = count }
        tier.reconcile()
        let images = OriginImages(largest: 0)
        var old = OldFiles(beside: arguments.directory)
        let isOld = old.count >= rounds * number
        var next = 0
        var young = (0..<64).map { index in bareWrite(bare, index - 64, body, removing: nil) }
        var ours = 0
        var ratios: [Double] = []
        var best = (bare: Double.infinity, ours: Double.infinity)
        for round in 0..<rounds {
            let bareTime = time {
                for _ in 0..<number {
                    young.append(bareWrite(bare, next, body, removing: isOld ? old.take() : young.removeFirst()))
                    next += 1
                }
            }
            let ourTime = try time {
                for _ in 0..<number {
                    let key = CacheKey(url: "https://bench.example/\(getpid())/\(size)/\(round)/\(ours).jpg")
                    ours += 1
                    let writer = try tier.begin(key)
                    // In one piece, as a fetch hands it over.
                    try body.withUnsafeBytes { try writer.append($0) }
                    if try !writer.commit(images.metadata(key)).isStored { fail("not stored") }
                }
                tier.flush()
            }
            ratios.append(ourTime / bareTime)
            best = (
                min(best.bare, bareTime / Double(number) * 1e6), min(best.ours, ourTime / Double(number) * 1e6)
            )
        }
        tier.close()
        return Figure(
            "commit of \(size) bytes that evicts one, against write, rename, unlink"
                + (isOld ? "" : "; none of it on the device yet"), ratios, " times", target: isOld ? target : nil,
            note: "best \(text(best.ours, 1)) against \(text(best.bare, 1)) µs")
    }

    @discardableResult
    private func bareWrite(_ folder: String, _ index: Int, _ body: [UInt8], removing old: String?) -> String {
        let file = open("\(folder)/tmp", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0, write(file, body, body.count) == body.count else { fail("bare write") }
        close(file)
        guard rename("\(folder)/tmp", "\(folder)/\(index)") == 0 else { fail("bare rename") }
        if let old, unlink(old) != 0 { fail("bare unlink of \(old)") }
        return "\(folder)/\(index)"
    }
}

/// Plain files, as old as the entries and of their size, in as many folders: what the bare side unlinks.
struct OldFiles {
    private let folder: String
    private var paths: [String] = []
    var count: Int { paths.count }

    init(beside directory: String) {
        folder = directory + "-old"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let files = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/" + name)) ?? []
            paths += files.map { "\(folder)/\(name)/\($0)" }
        }
        // Not folder by folder.
        var random = SystemRandomNumberGenerator()
        paths.shuffle(using: &random)
    }

    mutating func take() -> String { paths.removeLast() }

    /// Makes up what is missing.
    func fill(to wanted: Int) throws {
        for name in 0..<256 {
            try FileManager.default.createDirectory(
                atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        for number in 0..<max(0, wanted - count) {
            let body = OriginImages.bytes(1000, UInt64(number) + 1)
            let path = "\(folder)/\(number % 256)/\(number)-\(getpid())"
            let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0, write(file, body, body.count) == body.count else { fail("cannot write \(path)") }
            close(file)
        }
    }
}
