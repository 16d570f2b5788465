import Foundation
import Larder
import TestSupport
import Testing

@testable import LarderCommand

@Suite(.timeLimit(.minutes(1))) struct ThumbnailCommandTests {
    private let kept = KeptConsole()
    private let folder = TemporaryDirectory()

    private func run(_ arguments: String...) async -> LarderCommand.ExitStatus {
        await Program.run(["thumbnail"] + arguments, kept.console())
    }

    private func save(_ bytes: [UInt8], _ name: String) throws -> String {
        try Data(bytes).write(to: URL(filePath: folder(name)))
        return folder(name)
    }

    @Test func makesThumbnailsOfFiles() async throws {
        let file = try save(ImageFixtures.png(width: 40, height: 30), "x.png")
        #expect(await run(file, "-s", "10", "-o", folder("t"), "--json") == .success)
        #expect(kept.out.contains(#""size":"10x10","width":10,"height":8"#))
        #expect(folder.files(under: "t") == ["x.jpg"])
        #expect(await run(file, file, "-s", "10", "-o", folder.path) == .usage)
    }

    /// By whatever name: in the same folder, in another one through a link.
    @Test(arguments: [
        ("a.jpg", ["-s", "10"]), ("a.png", ["-s", "10"]), ("a.png", ["-s", "10", "--format", "png"]),
    ])
    func aFileThatIsGivenIsNotReplaced(name: String, options: [String]) async throws {
        let bytes =
            try name == "a.jpg"
            ? ImageFixtures.jpeg(width: 40, height: 30) : ImageFixtures.png(width: 40, height: 30, hasAlpha: true)
        let file = try save(bytes, name)
        symlink(folder.path, folder("link"))
        for directory in [folder.path, folder("link"), folder("link/link")] {
            #expect(await Program.run(["thumbnail", file, "-o", directory] + options, kept.console()) == .usage)
        }
        #expect(FileManager.default.contents(atPath: file) == Data(bytes))
        #expect(
            kept.err.contains("the thumbnail of \(file) would replace \(folder.path)/\(name), one of the files given"))
        #expect(kept.err.contains("-o names another directory"))
    }

    @Test func anotherFileThatIsGivenIsNotReplaced() async throws {
        let first = try save(ImageFixtures.jpeg(width: 40, height: 30), "a.jpg")
        mkdir(folder("t"), 0o700)
        let bytes = try ImageFixtures.jpeg(width: 20, height: 20)
        // The first one's thumbnails would stand where the second is.
        let second = try save(bytes, "t/a-10x10.jpg")
        #expect(await run(first, second, "-s", "10", "-s", "12", "-o", folder("t")) == .usage)
        #expect(folder.files(under: "t") == ["a-10x10.jpg"])
        #expect(FileManager.default.contents(atPath: second) == Data(bytes))
    }

    @Test func anotherFormatMayStandBeside() async throws {
        let file = try save(ImageFixtures.png(width: 40, height: 30), "a.png")
        #expect(await run(file, "-s", "10", "-o", folder.path, "--format", "jpeg") == .success)
        #expect(folder.files() == ["a.jpg", "a.png"])
    }
}
