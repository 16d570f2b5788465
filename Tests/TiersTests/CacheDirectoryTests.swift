import Foundation
import TestSupport
import Testing

@testable import Larder

struct CacheDirectoryTests {
    private let directory = TemporaryDirectory()

    @Test func aForeignDirectoryIsRefusedUnlessAdopted() throws {
        try Data("mine".utf8).write(to: URL(fileURLWithPath: directory("thesis.txt")))
        let error = #expect(throws: ImageError.self) { try DiskTier(directory: directory.path) }
        #expect(error?.code == "cache_unavailable")
        #expect(error?.details.detail.contains("thesis.txt") == true)
        #expect(directory.files() == ["thesis.txt"])
        var configuration = DiskTierConfiguration()
        configuration.adopts = true
        let tier = try DiskTier(directory: directory.path, configuration: configuration)
        try DiskFixtures.store(tier, DiskFixtures.key(1), [1])
        #expect(try String(contentsOfFile: directory("thesis.txt"), encoding: .utf8) == "mine")
        // From now on it is ours.
        #expect(try DiskTier(directory: directory.path).entry(for: DiskFixtures.key(1)) != nil)
    }

    @Test func aReadmeIsNoForeignFile() throws {
        for name in ["README.md", ".gitignore"] { try Data().write(to: URL(fileURLWithPath: directory(name))) }
        _ = try DiskTier(directory: directory.path)
        #expect(directory.files().contains("CACHEDIR.TAG"))
        let tag = try String(contentsOfFile: directory("CACHEDIR.TAG"), encoding: .utf8)
        #expect(tag.hasPrefix("Signature: 8a477f597d28d172789f06886806bc55\n"))
    }

    @Test func aMissingDirectoryIsMadeOrRefused() throws {
        var configuration = DiskTierConfiguration()
        configuration.creates = false
        #expect(throws: ImageError.self) {
            try DiskTier(directory: directory("a/b/c"), configuration: configuration)
        }
        #expect(!FileManager.default.fileExists(atPath: directory("a")))
        _ = try DiskTier(directory: directory("a/b/c"))
        #expect(FileManager.default.fileExists(atPath: directory("a/b/c/.larder")))
    }

    @Test func aNewerLayoutIsRefused() throws {
        _ = try DiskTier(directory: directory.path)
        try Data("larder cache directory, layout 2\n".utf8).write(to: URL(fileURLWithPath: directory(".larder")))
        let error = #expect(throws: ImageError.self) { try DiskTier(directory: directory.path) }
        #expect(error?.details.detail.contains("newer version") == true)
    }

    @Test func anotherOwnersDirectoryIsRefused() throws {
        guard getuid() == 0 else { return }
        chown(directory.path, 12345, 12345)
        let error = #expect(throws: ImageError.self) { try DiskTier(directory: directory.path) }
        #expect(error?.details.detail.contains("another user") == true)
    }

    @Test func aFileInItsPlaceIsAnError() throws {
        try Data().write(to: URL(fileURLWithPath: directory("file")))
        for path in [directory("file"), directory("file/x"), ""] {
            #expect(throws: ImageError.self) { try DiskTier(directory: path) }
        }
    }

    /// A symbolic link in the tree is never followed out of it, to read or to write.
    @Test func linksAreNotFollowed() throws {
        let tier = try DiskTier(directory: directory("cache"))
        let key = DiskFixtures.key(1)
        try DiskFixtures.store(tier, key, [1, 2, 3])
        let folder = String(key.file.prefix(2))
        // The folder moves out and a link takes its place.
        try FileManager.default.moveItem(atPath: directory("cache/\(folder)"), toPath: directory("outside"))
        try FileManager.default.createSymbolicLink(
            atPath: directory("cache/\(folder)"), withDestinationPath: directory("outside"))
        #expect(tier.entry(for: key) == nil)
        let again = try DiskFixtures.store(tier, key, [4, 5, 6])
        #expect(!again.isStored)
        #expect(try again.payload() == [4, 5, 6])
        tier.remove(key)
        #expect(directory.files(under: "outside") == [String(key.file.dropFirst(3))])
        // And a link in an entry's own place.
        let other = (2...).lazy.map(DiskFixtures.key).first { !$0.file.hasPrefix(folder) }!
        try DiskFixtures.store(tier, other, [7])
        try FileManager.default.moveItem(atPath: directory("cache/\(other.file)"), toPath: directory("moved"))
        try FileManager.default.createSymbolicLink(
            atPath: directory("cache/\(other.file)"), withDestinationPath: directory("moved"))
        #expect(tier.entry(for: other) == nil)
    }
}
