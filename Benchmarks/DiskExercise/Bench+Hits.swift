import Foundation
import Larder

extension Bench {
    /// A bare open, fstat and read of the same bytes, against a hit with its payload: looked up by key, lengths, version,
    /// key and both checksums verified, the bytes handed over. The bare side reads the entries' own files, by their paths
    /// and as long as fstat says: no cache of a million files could lay them out otherwise. In turns of one pass over all
    /// of them, so that what else the machine does falls on both.
    ///
    /// For comparison also against plain files of the payload alone, side by side in one folder under short names.
    func hits(_ size: Int, _ tier: DiskTier, plain: Bool) throws -> Figure {
        let images = OriginImages(largest: 0)
        let number = 200
        let bare = try BareFolder(beside: arguments.directory)
        defer { bare.remove() }
        var keys: [CacheKey] = []
        var paths: [String] = []
        for index in 0..<number {
            let body = OriginImages.bytes(size, UInt64(index) + 1)
            let key = CacheKey(url: "https://bench.example/\(size)/\(index).jpg")
            let writer = try tier.begin(key)
            try body.withUnsafeBytes { try writer.append($0) }
            _ = try writer.commit(images.metadata(key))
            keys.append(key)
            bare.store(index, body, removing: nil)
            paths.append(plain ? bare.path(index) : "\(arguments.directory)/\(key.file)")
        }
        tier.flush()
        let rounds = arguments.number("rounds", 7)
        let passes = size > 50_000 ? 20 : 60
        var ratios: [Double] = []
        var best = (bare: Double.infinity, ours: Double.infinity)
        for _ in 0..<rounds {
            var sum = (bare: 0.0, ours: 0.0)
            for _ in 0..<passes {
                sum.bare += time { for path in paths { bareRead(path) } }
                sum.ours += try time {
                    for key in keys {
                        guard let entry = tier.entry(for: key), try entry.withPayload({ $0.count }) == size else {
                            fail("a hit was missed")
                        }
                    }
                }
            }
            ratios.append(sum.ours / sum.bare)
            let each = Double(number * passes) / 1e6
            best = (min(best.bare, sum.bare / each), min(best.ours, sum.ours / each))
        }
        for key in keys { tier.remove(key) }
        return Figure(
            "hit of \(size) bytes, against open, fstat, read" + (plain ? " of plain files in one folder" : ""), ratios,
            " times", target: plain ? nil : 1.5,
            note: "best \(text(best.ours)) against \(text(best.bare)) µs")
    }

    private func bareRead(_ path: String) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        var status = stat()
        guard file >= 0, fstat(file, &status) == 0 else { fail("bare file") }
        let size = Int(status.st_size)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = read(file, buffer.baseAddress, size)
        }
        if bytes.count != size { fail("bare file") }
        close(file)
    }

    /// What a fetch pays so that other processes wait for it: a lock, one more look, and the release.
    func turns(_ tier: DiskTier) throws -> Figure {
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
}

/// Plain files beside the cache, for the bare side.
struct BareFolder {
    private let folder: String

    init(beside directory: String) throws {
        let parent = URL(fileURLWithPath: directory).deletingLastPathComponent().path
        folder = "\(parent)/bare-\(getpid())"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    func path(_ index: Int) -> String { "\(folder)/\(index)" }

    /// A bare write and rename, and the unlink of another file.
    func store(_ index: Int, _ body: [UInt8], removing old: String?) {
        let file = open("\(folder)/tmp", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0, write(file, body, body.count) == body.count else { fail("bare write") }
        close(file)
        guard rename("\(folder)/tmp", path(index)) == 0 else { fail("bare rename") }
        if let old, unlink(old) != 0 { fail("bare unlink of \(old)") }
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }
}
