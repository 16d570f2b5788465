import Foundation
import Larder

/// One process on the directory: looks up, stores, revalidates, cuts off and removes at random, and compares every
/// hit with its origin. Runs until it is killed or its time is over.
struct Work {
    let arguments: Arguments
    private let images: OriginImages

    init(_ arguments: Arguments) {
        self.arguments = arguments
        images = OriginImages(largest: arguments.number("body", 60_000))
    }

    static func configuration(_ arguments: Arguments) -> DiskTierConfiguration {
        var configuration = DiskTierConfiguration()
        configuration.maximumBytes = Int64(arguments.number("bytes", 2 << 30))
        configuration.maximumCount = Int64(arguments.number("count", 1_000_000))
        configuration.warnings = { text in FileHandle.standardError.write(Data("warning: \(text)\n".utf8)) }
        return configuration
    }

    func run() -> Never {
        do {
            let tier = try DiskTier(
                directory: arguments.directory, configuration: Self.configuration(arguments))
            var random = Random(state: UInt64(arguments.number("seed", 1)) &* 0x9E37_79B9_7F4A_7C15 | 1)
            let seconds = UInt64(arguments.number("seconds", 3600))
            let end = SystemTime().monotonic + seconds * 1_000_000_000
            var done = 0
            while SystemTime().monotonic < end {
                try step(tier, &random)
                done += 1
            }
            tier.close()
            say("steps \(done)")
            exit(0)
        } catch {
            say("WRONG: \(error)")
            exit(9)
        }
    }

    private func step(_ tier: DiskTier, _ random: inout Random) throws {
        let number = random.below(arguments.number("keys", 500))
        let key = images.key(number)
        switch random.below(100) {
        case 0..<3: tier.remove(key)
        case 3..<6:
            let writer = try tier.begin(key)
            let body = images.body(number)
            let cut = random.below(body.count + 1)
            try Array(body[..<cut]).withUnsafeBytes { try writer.append($0) }
            if random.below(2) == 0 {
                writer.abandon()
            } else {
                writer.keepPartial(images.metadata(key), validator: "\"5f3-9a\"")
            }
        case 6..<8: tier.rememberFailure(key, code: "http_status", until: SystemTime().now.adding(seconds: 60))
        default:
            guard let entry = tier.entry(for: key) else { return try store(tier, key, number) }
            try compare(entry, number)
            if random.below(10) == 0 { try compare(try tier.refresh(entry, images.metadata(key)), number) }
        }
    }

    private func store(_ tier: DiskTier, _ key: CacheKey, _ number: Int) throws {
        let body = images.body(number)
        let writer: EntryWriter
        if let resumed = tier.resume(key), let partial = resumed.resumed {
            writer = resumed
            guard partial.bytes <= body.count else { throw Mismatch(number: number, what: "partial") }
            try append(Array(body[partial.bytes...]), writer)
        } else {
            writer = try tier.begin(key)
            try append(body, writer)
        }
        let entry = try writer.commit(images.metadata(key))
        guard entry.sha256 == SHA256.digest(body) else { throw Mismatch(number: number, what: "SHA-256") }
    }

    private func append(_ body: [UInt8], _ writer: EntryWriter) throws {
        var from = 0
        while from < body.count {
            let to = min(from + 16_384, body.count)
            try body.withUnsafeBytes { try writer.append(UnsafeRawBufferPointer(rebasing: $0[from..<to])) }
            from = to
        }
    }

    private func compare(_ entry: StoredEntry, _ number: Int) throws {
        guard try entry.payload() == images.body(number) else { throw Mismatch(number: number, what: "hit") }
    }

    struct Mismatch: Error {
        let number: Int
        let what: String
    }
}

struct Random {
    var state: UInt64

    mutating func below(_ limit: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int((state >> 11) % UInt64(max(1, limit)))
    }
}

/// Holds the lock of a key until it is killed; says so once it has it.
struct Hold {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() -> Never {
        do {
            let tier = try DiskTier(directory: arguments.directory)
            let images = OriginImages(largest: 0)
            guard let lock = tier.tryLock(for: images.key(arguments.number("key", 1))) else { fail("no lock") }
            say("held")
            while true { withExtendedLifetime(lock) { _ = sleep(1000) } }
        } catch {
            fail("\(error)")
        }
    }
}
