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
            var lines: [String] = []
            let state = arguments.directory + "/state"
            lines.append(try opening("with an index", count))
            if arguments.number("rebuild", 1) == 1 {
                for name in try FileManager.default.contentsOfDirectory(atPath: state) where name.hasPrefix("index") {
                    try FileManager.default.removeItem(atPath: state + "/" + name)
                }
                lines.append(try opening("without an index", count))
                try rebuild(&lines, count)
            }
            for size in [4096, 100_000] { lines.append(try hits(size)) }
            for size in [4096, 100_000] { lines.append(try commits(size)) }
            lines.append("resident memory at most \(peak()) MB")
            say(lines.joined(separator: "\n"))
            exit(0)
        } catch {
            fail("\(error)")
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

    private func opening(_ what: String, _ count: Int) throws -> String {
        var answer: StoredEntry?
        var opened: DiskTier?
        let seconds = try time {
            let tier = try tier()
            answer = tier.entry(for: Fill.key(count / 2))
            opened = tier
        }
        guard answer != nil else { fail("entry \(count / 2) is not there") }
        _ = opened
        return "open to first answer, \(what): \(text(seconds * 1000, 1)) ms"
    }

    private func rebuild(_ lines: inout [String], _ count: Int) throws {
        let tier = try tier()
        let seconds = time { tier.reconcile() }
        guard try tier.count() >= count else { fail("the index knows \(try tier.count()) of \(count)") }
        lines.append("rebuilding the index behind it: \(text(seconds, 1)) s, peak \(peak()) MB")
    }

    // MARK: Hits

    /// A bare open, fstat, read of the same bytes and close, over plain files, against a hit with its payload.
    private func hits(_ size: Int) throws -> String {
        let tier = try tier()
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
        ratios.sort()
        return "hit of \(size) bytes: \(text(ratios[ratios.count / 2])) times the bare open, fstat, read "
            + "(\(text(best.ours)) against \(text(best.bare)) µs)"
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

    // MARK: Commits

    /// A bare write, rename and unlink of an older file, against a commit that evicts, the index's work counted.
    private func commits(_ size: Int) throws -> String {
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
        let old = 64
        for index in 0..<old { bareWrite(bare, index, body, removing: nil) }
        var next = old
        var ours = 0
        var ratios: [Double] = []
        var best = (bare: Double.infinity, ours: Double.infinity)
        for round in 0..<rounds {
            let bareTime = time {
                for _ in 0..<number {
                    bareWrite(bare, next, body, removing: next - old)
                    next += 1
                }
            }
            let ourTime = try time {
                for _ in 0..<number {
                    let key = CacheKey(url: "https://bench.example/\(getpid())/\(size)/\(round)/\(ours).jpg")
                    ours += 1
                    let writer = try tier.begin(key)
                    try body.withUnsafeBytes { bytes in
                        // As they come from the network.
                        for from in stride(from: 0, to: size, by: 16_384) {
                            try writer.append(UnsafeRawBufferPointer(rebasing: bytes[from..<min(from + 16_384, size)]))
                        }
                    }
                    if try !writer.commit(images.metadata(key)).isStored { fail("not stored") }
                }
                tier.flush()
            }
            ratios.append(ourTime / bareTime)
            best = (
                min(best.bare, bareTime / Double(number) * 1e6), min(best.ours, ourTime / Double(number) * 1e6)
            )
        }
        ratios.sort()
        return "commit with eviction of \(size) bytes: \(text(ratios[ratios.count / 2])) times the bare write, "
            + "rename, unlink (\(text(best.ours, 1)) against \(text(best.bare, 1)) µs)"
    }

    private func bareWrite(_ folder: String, _ index: Int, _ body: [UInt8], removing old: Int?) {
        let file = open("\(folder)/tmp", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0, write(file, body, body.count) == body.count else { fail("bare write") }
        close(file)
        guard rename("\(folder)/tmp", "\(folder)/\(index)") == 0 else { fail("bare rename") }
        if let old { unlink("\(folder)/\(old)") }
    }
}
