import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderWorkers

@Suite(.timeLimit(.minutes(1))) struct PlainFileTests {
    private let folder = TemporaryDirectory()

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode : 0
    }

    private func content(_ path: String) -> [UInt8] { Array(FileManager.default.contents(atPath: path) ?? Data()) }

    @Test func aFileIsReplacedAndKeepsItsPermissions() throws {
        try PlainFile.write([1, 2], to: folder("a"))
        #expect(content(folder("a")) == [1, 2])
        chmod(folder("a"), 0o600)
        try PlainFile.write([3], to: folder("a"))
        #expect(content(folder("a")) == [3])
        #expect(mode(folder("a")) == S_IFREG | 0o600)
        #expect(folder.files() == ["a"])
    }

    @Test func manyWritersOfOnePathDoNotMeet() {
        let path = folder("a")
        let failures = Lock<[ImageError]>([])
        DispatchQueue.concurrentPerform(iterations: 4) { writer in
            let bytes = [UInt8](repeating: UInt8(writer), count: 5000)
            for _ in 0..<200 {
                do throws(ImageError) { try PlainFile.write(bytes, to: path) } catch {
                    failures.withLock { $0.append(error) }
                }
            }
        }
        #expect(failures.withLock { $0 }.isEmpty)
        #expect(content(path).count == 5000 && Set(content(path)).count == 1, "of one writer, and whole")
        #expect(folder.files() == ["a"])
    }

    @Test func nothingIsLeftBehindByAFailure() throws {
        mkdir(folder("taken"), 0o700)
        #expect(throws: ImageError.self) { try PlainFile.write([1], to: folder("taken")) }
        #expect(throws: ImageError.self) { try PlainFile.write([1], to: folder("missing/a")) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["taken"])
    }

    @Test func aPipeThatIsNamedTakesTheBytes() throws {
        let path = folder("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        // Both ends in one: nobody waits for the other side.
        let pipe = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(pipe) }
        try PlainFile.write([7, 8, 9], toNamed: path)
        var bytes = [UInt8](repeating: 0, count: 8)
        #expect(read(pipe, &bytes, 8) == 3)
        #expect(bytes.prefix(3) == [7, 8, 9])
        #expect(mode(path) & S_IFMT == S_IFIFO)
    }

    /// A socket: what cannot be opened is not replaced either.
    @Test func whatTakesNoBytesStays() throws {
        let path = folder("socket")
        try #require(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        let error = #expect(throws: ImageError.self) { try PlainFile.write([1], toNamed: path) }
        #expect(error?.details.detail == "\(path) cannot be written: No such device or address")
        #expect(mode(path) & S_IFMT == S_IFSOCK)
    }

    @Test func aLinkThatIsNamedStays() throws {
        mkdir(folder("there"), 0o700)
        try PlainFile.write([1], to: folder("there/file"))
        symlink("there/file", folder("link"))
        try PlainFile.write([2], toNamed: folder("link"))
        #expect(mode(folder("link")) & S_IFMT == S_IFLNK)
        #expect(content(folder("there/file")) == [2])
        // Not one that stands where the name is made by us: it may lead anywhere.
        try PlainFile.write([3], to: folder("link"))
        #expect(mode(folder("link")) & S_IFMT == S_IFREG)
        #expect(content(folder("there/file")) == [2])
        #expect(folder.files() == ["link", "there/file"])
    }
}
