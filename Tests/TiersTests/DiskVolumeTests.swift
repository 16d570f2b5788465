import Foundation
import TestSupport
import Testing

@testable import Larder

/// On file systems that are mounted for the test: full ones, read-only ones, layered ones. Needs root.
@Suite(.serialized)
struct DiskVolumeTests {
    /// A file system in a directory of its own.
    private final class Mount {
        let directory: TemporaryDirectory
        private let path: String

        init(_ type: String, _ options: String, in directory: TemporaryDirectory = .init()) throws {
            self.directory = directory
            path = directory("mounted")
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try #require(
                mount(type, path, type, 0, options) == 0, "mounting \(type): \(String(cString: strerror(errno)))")
        }

        deinit { umount2(path, Int32(MNT_DETACH)) }

        func callAsFunction(_ name: String) -> String { "\(path)/\(name)" }

        /// Why nothing can be mounted here.
        static let obstacle: String? = {
            guard getuid() == 0 else { return "mounting needs root" }
            do { _ = try Mount("tmpfs", "size=1m") } catch { return "a tmpfs cannot be mounted here" }
            return nil
        }()
        static let comment = Comment(rawValue: obstacle ?? "")
    }

    /// What a tier tells of.
    private final class Warnings: Sendable {
        private let told = Lock<[String]>([])
        var texts: [String] { told.withLock { $0 } }
        var configuration: DiskTierConfiguration {
            var configuration = DiskTierConfiguration()
            configuration.warnings = { [told] text in told.withLock { $0.append(text) } }
            return configuration
        }
    }

    /// Sixteen megabytes, filled up: older images make room for newer ones, and what does not fit loads all the same,
    /// with one warning.
    @Test(.enabled(if: Mount.obstacle == nil, Mount.comment))
    func aFullDisk() throws {
        let disk = try Mount("tmpfs", "size=16m")
        let warnings = Warnings()
        let tier = try DiskTier(directory: disk("cache"), configuration: warnings.configuration)
        tier.reconcile()
        var stored = 0
        for number in 0..<300 {
            let payload = DiskFixtures.bytes(100_000, seed: UInt64(number + 1))
            let entry = try DiskFixtures.store(tier, DiskFixtures.key(number), payload)
            #expect(try entry.payload().isSame(as: payload))
            if entry.isStored { stored += 1 }
        }
        // One that is larger than the device costs neither the load nor the whole cache.
        let huge = DiskFixtures.bytes(20 << 20)
        #expect(try DiskFixtures.store(tier, DiskFixtures.key(999), huge).payload().isSame(as: huge))
        #expect(stored > 280)
        #expect(warnings.texts.count == 1)
        tier.flush()
        var hits = 0
        for number in 0..<300 {
            guard let entry = tier.entry(for: DiskFixtures.key(number)) else { continue }
            #expect(try entry.payload().isSame(as: DiskFixtures.bytes(100_000, seed: UInt64(number + 1))))
            hits += 1
        }
        #expect(hits > 50 && hits < 160)
        #expect(Int64(hits) == (try tier.recount().count))
        #expect(disk.directory.files(under: "mounted/cache/tmp") == [])
        #expect(tier.verify(repair: false).isSound)
        try tier.clear()
        #expect(try DiskFixtures.store(tier, DiskFixtures.key(1), [1]).isStored)
    }

    /// No inode is left though there is room: the same as a full disk.
    @Test(.enabled(if: Mount.obstacle == nil, Mount.comment))
    func noInodesAreLeft() throws {
        // 256 of them are folders in the end.
        let disk = try Mount("tmpfs", "size=16m,nr_inodes=400")
        let warnings = Warnings()
        let tier = try DiskTier(directory: disk("cache"), configuration: warnings.configuration)
        tier.reconcile()
        for number in 0..<300 {
            let entry = try DiskFixtures.store(tier, DiskFixtures.key(number), [1, 2, 3])
            #expect(try entry.payload() == [1, 2, 3])
        }
        #expect(warnings.texts.count == 1, "\(warnings.texts)")
        #expect(disk.directory.files(under: "mounted/cache/tmp") == [])
        #expect(try tier.recount().count > 50)
        #expect(tier.verify(repair: false).isSound)
    }

    /// Hits go on, new images load and are not stored, and it is said once.
    @Test(.enabled(if: Mount.obstacle == nil, Mount.comment))
    func aReadOnlyDirectory() throws {
        let disk = try Mount("tmpfs", "size=16m")
        for name in ["full", "empty"] {
            try FileManager.default.createDirectory(atPath: disk(name), withIntermediateDirectories: true)
        }
        do {
            let tier = try DiskTier(directory: disk("full/cache"))
            try DiskFixtures.store(tier, DiskFixtures.key(1), [1])
        }
        // Without an upper layer nothing can be written.
        let overlay = try Mount("overlay", "lowerdir=\(disk("full")):\(disk("empty"))")
        let before = overlay.directory.files()
        let warnings = Warnings()
        let tier = try DiskTier(directory: overlay("cache"), configuration: warnings.configuration)
        for number in 2..<12 {
            let entry = try DiskFixtures.store(tier, DiskFixtures.key(number), [7])
            #expect(!entry.isStored)
            #expect(try entry.payload() == [7])
            #expect(try tier.entry(for: DiskFixtures.key(1))?.payload() == [1])
        }
        tier.remove(DiskFixtures.key(1))
        tier.flush()
        #expect(tier.entry(for: DiskFixtures.key(1)) != nil)
        #expect(warnings.texts.count == 1, "\(warnings.texts)")
        #expect(overlay.directory.files() == before)
    }

    /// A cache that came with an image's lower layer: read from there, written to the upper one.
    @Test(.enabled(if: Mount.obstacle == nil, Mount.comment))
    func layers() throws {
        // The layers on a tmpfs: where the tests run may be an overlay itself, which cannot be an upper layer.
        let disk = try Mount("tmpfs", "size=16m")
        let layers = disk("layers")
        for name in ["lower", "upper", "work"] {
            try FileManager.default.createDirectory(atPath: "\(layers)/\(name)", withIntermediateDirectories: true)
        }
        do {
            let tier = try DiskTier(directory: "\(layers)/lower/cache")
            for number in 0..<20 { try DiskFixtures.store(tier, DiskFixtures.key(number), DiskFixtures.bytes(3000)) }
        }
        let overlay = try Mount(
            "overlay", "lowerdir=\(layers)/lower,upperdir=\(layers)/upper,workdir=\(layers)/work")
        let warnings = Warnings()
        var configuration = warnings.configuration
        configuration.maximumCount = 25
        let tier = try DiskTier(directory: overlay("cache"), configuration: configuration)
        tier.reconcile()
        for number in 0..<20 {
            #expect(try tier.entry(for: DiskFixtures.key(number))?.payload().count == 3000)
        }
        tier.flush()
        for number in 20..<40 {
            #expect(try DiskFixtures.store(tier, DiskFixtures.key(number), DiskFixtures.bytes(70_000)).isStored)
        }
        let old = try #require(tier.entry(for: DiskFixtures.key(39)))
        #expect(try tier.refresh(old, DiskFixtures.metadata(DiskFixtures.key(39), freshUntil: 7)).isStored)
        #expect(try tier.recount().count == 25)
        #expect(try tier.count() == 25)
        #expect(tier.verify(repair: false).isSound)
        #expect(warnings.texts == [])
        #expect(disk.directory.files(under: "mounted/layers/upper/cache/tmp") == [])
    }
}
