import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderCommand

@Suite(.timeLimit(.minutes(1))) struct GetCommandTests {
    private let kept = KeptConsole()
    private let folder = TemporaryDirectory()
    private let origin: Origin
    private let image: [UInt8]

    init() throws {
        origin = try Origin()
        image = try ImageFixtures.png(width: 4, height: 3)
        origin.on("/a.png", .ok(image))
    }

    private func run(_ arguments: String...) async -> LarderCommand.ExitStatus {
        await Program.run(
            ["get"] + arguments + ["--cache", folder("cache"), "--retry", "0"], kept.console())
    }

    @Test func aPipeTakesTheImageAndStaysAPipe() async throws {
        let path = folder("pipe")
        try #require(mkfifo(path, 0o600) == 0)
        let pipe = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(pipe) }
        #expect(await run(origin.url("/a.png").absoluteString, "-o", path) == .success, "\(kept.err)")
        var bytes = [UInt8](repeating: 0, count: image.count + 1)
        #expect(read(pipe, &bytes, bytes.count) == image.count)
        #expect(bytes.prefix(image.count) == image[...])
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    }

    @Test func aFileThatCannotBeWrittenIsNoFaultOfTheCache() async throws {
        let path = folder("none/a.png")
        #expect(await run(origin.url("/a.png").absoluteString, "-o", path) == .noneSucceeded)
        #expect(kept.err.contains("\(path) cannot be written: No such file or directory"))
        #expect(!kept.err.contains("cache"))
    }

    @Test func whatIsRememberedWasNotTried() async throws {
        let missing = origin.url("/missing.png").absoluteString
        for attempts in [1, 0] {
            #expect(await run(missing, "--json") == .noneSucceeded)
            #expect(kept.out.split(separator: "\n").last?.contains("\"attempts\":\(attempts),") == true)
        }
    }

    @Test func aDirectoryGetsAFile() async throws {
        mkdir(folder("out"), 0o700)
        #expect(await run(origin.url("/a.png").absoluteString, "-o", folder("out")) == .success)
        let name = try #require(folder.files(under: "out").first)
        #expect(name.hasPrefix("a-") && name.hasSuffix(".png"))
        #expect(FileManager.default.contents(atPath: folder("out/" + name)) == Data(image))
    }
}
