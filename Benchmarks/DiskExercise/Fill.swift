import Foundation
import Larder

/// Makes many small entries, as a long-lived cache has them.
struct Fill {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    static func key(_ number: Int) -> CacheKey {
        CacheKey(url: "https://img\(number % 7).example.com/catalogue/2026/photo-\(number).jpg?w=640&h=480")
    }

    func run() -> Never {
        do {
            var configuration = DiskTierConfiguration()
            configuration.maximumBytes = 1 << 40
            configuration.maximumCount = 100_000_000
            let tier = try DiskTier(directory: arguments.directory, configuration: configuration)
            let images = OriginImages(largest: 0)
            let count = arguments.number("count", 1_000_000)
            let from = arguments.number("from", 0)
            try OldFiles(beside: arguments.directory).fill(to: arguments.number("old", 0))
            let start = SystemTime().monotonic
            for number in from..<from + count {
                let key = Self.key(number)
                let writer = try tier.begin(key)
                let body = OriginImages.bytes(64 + number % 512, UInt64(number) + 1)
                try body.withUnsafeBytes { try writer.append($0) }
                let entry = try writer.commit(images.metadata(key))
                if !entry.isStored { fail("entry \(number) was not stored") }
            }
            tier.close()
            let seconds = Double(SystemTime().monotonic - start) / 1e9
            say("filled \(count) entries in \(String(format: "%.1f", seconds)) s")
            exit(0)
        } catch {
            fail("\(error)")
        }
    }
}
