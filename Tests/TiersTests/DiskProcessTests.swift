import Foundation
import TestSupport
import Testing

@testable import Larder

/// Real processes on one directory. The long forms are in Benchmarks/disk-tier.sh.
@Suite(.serialized)
struct DiskProcessTests {
    private let directory = TemporaryDirectory()

    /// Beside the tests: both are built by one command.
    private static let program = Bundle.main.executableURL!.deletingLastPathComponent()
        .appendingPathComponent("DiskExercise").path

    private func start(_ arguments: [String]) throws -> (Process, Pipe) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.program)
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        return (process, output)
    }

    private func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let (process, pipe) = try start(arguments)
        let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, output)
    }

    @Test func aStormOfKillsLeavesNothingButWholeEntries() throws {
        let result = try run([
            "storm", "--directory", directory.path, "--kills", "200", "--processes", "3", "--keys", "200",
        ])
        #expect(result.status == 0, "\(result.output)")
        #expect(result.output.contains("all whole and equal to their origin"))
    }

    @Test func aCrowdHoldsOneLimit() throws {
        let result = try run([
            "crowd", "--directory", directory.path, "--processes", "8", "--seconds", "30", "--keys", "400",
        ])
        #expect(result.status == 0, "\(result.output)")
    }

    /// The holder's death is the lock's release.
    @Test func aKilledHolderGivesItsLockUp() throws {
        let (process, output) = try start(["hold", "--directory", directory.path, "--key", "1"])
        let said = output.fileHandleForReading.availableData
        #expect(String(decoding: said, as: UTF8.self) == "held\n")
        let tier = try DiskTier(directory: directory.path)
        let key = CacheKey(url: "https://origin.example/images/1/photo.jpg")
        #expect(tier.tryLock(for: key) == nil)
        #expect(tier.tryLock(for: DiskFixtures.key(2)) != nil)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(tier.tryLock(for: key) != nil)
    }

    /// Another process fetches an image and is killed: who waits for it fetches it then.
    @Test func aKilledFetchIsTakenOver() async throws {
        let (process, output) = try start(["hold", "--directory", directory.path, "--key", "1"])
        #expect(String(decoding: output.fileHandleForReading.availableData, as: UTF8.self) == "held\n")
        let time = ManualTime()
        let image = SampleImage.png(200)
        let transport = ScriptedTransport { _, _ in .ok(image, ["Cache-Control": "max-age=60"]) }
        let fetcher = CachingFetcher(
            client: HTTPClient(transport: transport, time: time),
            disk: try DiskTier(directory: directory.path, time: time),
            executor: BlockingExecutor(name: "test", width: 2), time: time)
        let fetch = fetcher.begin(
            FetchRequest(url: try NormalizedURL("https://origin.example/images/1/photo.jpg")))
        await time.sleepers(1)
        #expect(transport.requests.isEmpty)
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        time.advance(seconds: 1)
        let result = try await fetch.result()
        #expect(result.source == .network)
        #expect(try result.readPayload() == image)
        #expect(transport.requests.count == 1)
    }
}
