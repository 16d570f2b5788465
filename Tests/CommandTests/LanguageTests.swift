import Foundation
import Larder
import LarderPrefetch
import LarderWorkers
import TestSupport
import Testing

@testable import LarderCommand

/// Messages for people are in the language of LC_ALL, LC_MESSAGES and LANG; JSON is English.
@Suite struct LanguageTests {
    static let korean = "올바른 웹 주소가 아닙니다"
    static let english = "This is not a usable web address"

    @Test(arguments: [
        (["LC_ALL": "ko_KR.UTF-8", "LANG": "en_US.UTF-8"], korean), (["LC_MESSAGES": "ko_KR.UTF-8"], korean),
        (["LANG": "ko_KR.UTF-8"], korean), (["LANG": "ko_KR.UTF-8", "LC_ALL": "C"], english), ([:], english),
    ]) func getSpeaksIt(environment: [String: String], words: String) async {
        let kept = KeptConsole()
        let directory = TemporaryDirectory()
        _ = await Program.run(["get", "--cache", directory.path, "http:///a.png"], kept.console(environment))
        #expect(kept.err.contains(words))
        #expect(kept.err.contains("invalid_url"), "the technical part is the same everywhere")
    }

    @Test func jsonStaysEnglish() async {
        let kept = KeptConsole()
        let directory = TemporaryDirectory()
        _ = await Program.run(
            ["get", "--json", "--cache", directory.path, "http:///a.png"], kept.console(["LANG": "ko_KR.UTF-8"]))
        #expect(kept.out.contains(Self.english))
    }

    /// The process itself, with its real environment.
    @Test func theProgramSpeaksIt() throws {
        let program = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("larder")
        try #require(FileManager.default.isExecutableFile(atPath: program.path))
        let directory = TemporaryDirectory()
        let process = Process()
        let pipe = Pipe()
        process.executableURL = program
        process.arguments = ["get", "--cache", directory.path, "http:///a.png"]
        process.environment = ["LANG": "en_US.UTF-8", "LC_ALL": "ko_KR.UTF-8"]
        process.standardError = pipe
        try process.run()
        let words = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(words.contains(Self.korean))
    }
}
