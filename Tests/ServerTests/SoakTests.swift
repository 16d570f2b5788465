import Foundation
import Larder
import Testing

@testable import LarderServer

/// Reading while others write, replace and evict in the same directory. The long form is Benchmarks/Serve/soak.py.
@Suite struct SoakTests {
    @Test func everyByteIsRightWhileTheDirectoryChanges() async throws {
        let fixture = try ServerFixture(time: SystemTime())
        var configuration = DiskTierConfiguration()
        configuration.maximumBytes = 1 << 20
        let other = try DiskTier(directory: fixture.directory.path, configuration: configuration)
        let server = fixture.server()
        let isDone = Lock(false)
        let header = ImageHeader(format: .png, width: 1, height: 1)

        // Another tier on the directory stores, replaces and evicts until the readers are done.
        let writer = Thread {
            var round = 0
            while !isDone.withLock({ $0 }) {
                let index = round % 64
                round += 1
                let key = CacheKey(url: "https://example.com/\(index)")
                let bytes = [UInt8](repeating: UInt8(index), count: 20_000 + round % 17)
                guard let writer = try? other.begin(key) else { continue }
                let now = SystemTime().now
                _ = try? bytes.withUnsafeBytes { try writer.append($0) }
                _ = try? writer.commit(
                    EntryMetadata(
                        key: key, finalURL: key.url, requestTime: now, responseTime: now,
                        freshness: StoredFreshness(freshUntil: now.adding(seconds: 60)), header: header))
            }
        }
        writer.start()
        let found = await withTaskGroup(of: (right: Int, wrong: Int, missing: Int).self) { group in
            for reader in 0..<8 {
                group.addTask {
                    var counts = (right: 0, wrong: 0, missing: 0)
                    for turn in 0..<150 {
                        let index = (turn * 7 + reader * 13) % 64
                        let answer = await server.answer("/image?url=https://example.com/\(index)")
                        if answer.status == 404 {
                            counts.missing += 1
                        } else if answer.status == 200, answer.bytes.allSatisfy({ $0 == UInt8(index) }),
                            answer.bytes.count >= 20_000
                        {
                            counts.right += 1
                        } else {
                            counts.wrong += 1
                        }
                    }
                    return counts
                }
            }
            return await group.reduce(into: (right: 0, wrong: 0, missing: 0)) {
                $0 = ($0.right + $1.right, $0.wrong + $1.wrong, $0.missing + $1.missing)
            }
        }
        isDone.withLock { $0 = true }
        #expect(found.wrong == 0)
        #expect(found.right > 0)
        other.close()
    }
}
