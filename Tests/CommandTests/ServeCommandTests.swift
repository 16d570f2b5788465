import Foundation
import Glibc
import Larder
import TestSupport
import Testing

@testable import LarderCommand

/// `larder serve` as a process, as systemd starts it: a listening socket is handed over, news are sent to another.
@Suite(.timeLimit(.minutes(1))) struct ServeCommandTests {
    private let folder = TemporaryDirectory()

    init() throws {
        let tier = try DiskTier(directory: folder("cache"))
        tier.close()
        try write("one\n", "token")
    }

    private func write(_ text: String, _ name: String) throws {
        try text.write(toFile: folder(name), atomically: true, encoding: .utf8)
    }

    private func status(_ port: Int, _ target: String, token: String) async throws -> Int? {
        let client = try RawClient(port: port)
        client.request("GET \(target)", "Authorization: Bearer \(token)")
        return try await client.reply()?.status
    }

    @Test func itHasNoRefresh() async {
        let kept = KeptConsole()
        #expect(
            await Program.run(["serve", folder("cache"), "--fetch", "--public-only", "--refresh"], kept.console())
                == .usage)
        #expect(kept.err.contains("serve has no --refresh"))
    }

    @Test func itServesOnTheSocketOfSystemdReloadsItsKeysAndEndsInGoodOrder() async throws {
        let news = try NewsSocket(path: folder("news"))
        let listener = try HandedSocket()
        let server = try ProgramProcess(
            [
                "serve", folder("cache"), "--token-file", folder("token"), "--access-log", folder("access.log"),
                "--port", "1",
            ],
            environment: ["NOTIFY_SOCKET": news.path, "WATCHDOG_USEC": "200000", "LISTEN_FDS": "1"],
            third: listener.descriptor)
        try await news.wait(for: "READY=1")
        let port = listener.port
        #expect(try await status(port, "/api/stats", token: "one") == 200)
        try await logged(1)
        #expect(try await status(port, "/api/stats", token: "two") == 401)
        try await logged(2)
        try await news.wait(for: "WATCHDOG=1")

        try write("two\n", "token")
        try FileManager.default.moveItem(atPath: folder("access.log"), toPath: folder("access.log.1"))
        server.signal(SIGHUP)
        try await news.wait(for: "RELOADING=1")
        try await news.wait(for: "READY=1")
        #expect(try await status(port, "/api/stats", token: "one") == 401)
        #expect(try await status(port, "/api/stats", token: "two") == 200)

        // A key file that is gone leaves the key as it was.
        try FileManager.default.removeItem(atPath: folder("token"))
        server.signal(SIGHUP)
        try await news.wait(for: "RELOADING=1")
        try await news.wait(for: "READY=1")
        #expect(try await status(port, "/api/stats", token: "two") == 200)

        server.signal(SIGTERM)
        try await news.wait(for: "STOPPING=1")
        #expect(await server.ended() == 0)
        let (before, after) = (try lines("access.log.1"), try lines("access.log"))
        #expect(before.count == 2 && after.count == 3)
        #expect(before[0].contains("\"target\":\"/api/stats\"") && before[0].contains("\"status\":200"))
        #expect(!(before + after).joined().contains("one") && !(before + after).joined().contains("two"))
    }

    @Test func otherMachinesAreNotServedWithoutASecret() async throws {
        let server = try ProgramProcess(["serve", folder("cache"), "--host", "0.0.0.0", "--port", "0"])
        #expect(await server.ended() == 2)
        let fetching = try ProgramProcess(["serve", folder("cache"), "--fetch", "--port", "0"])
        #expect(await fetching.ended() == 2)
    }

    /// Images that are fetched at the same time are rows of the same workers: each gets its own answer.
    @Test func whatIsFetchedTogetherIsToldApart() async throws {
        let origin = try Origin()
        let gate = Gate()
        let pictures = (1...4).map { SampleImage.png(200 + $0) }
        for (index, picture) in pictures.enumerated() { origin.on("/\(index).png", .gated(picture, at: gate)) }
        let listener = try HandedSocket()
        let server = try ProgramProcess(
            ["serve", folder("cache"), "--fetch", "--allow-host", "127.0.0.1", "--fetch-workers", "1", "--port", "1"],
            environment: ["LISTEN_FDS": "1"], third: listener.descriptor)
        let port = listener.port
        @Sendable func answer(_ path: String) async throws -> (status: Int, body: [UInt8])? {
            let client = try RawClient(port: port)
            client.request("GET /image?url=" + origin.url(path).absoluteString)
            return try await client.reply().map { ($0.status, $0.body) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, picture) in pictures.enumerated() {
                group.addTask {
                    let answer = try #require(try await answer("/\(index).png"))
                    #expect(answer.status == 200 && answer.body == picture)
                }
            }
            _ = await origin.requests(atLeast: pictures.count)
            #expect(try await answer("/missing.png")?.status == 502)
            gate.open()
            try await group.waitForAll()
        }
        server.signal(SIGTERM)
        #expect(await server.ended() == 0)
    }

    /// Returns when the log has so many lines: each is written behind its answer.
    private func logged(_ count: Int) async throws {
        while try lines("access.log").count < count, !Task.isCancelled { await Task.yield() }
    }

    private func lines(_ name: String) throws -> [String] {
        try String(contentsOfFile: folder(name), encoding: .utf8).split(separator: "\n").map(String.init)
    }
}

/// A socket that listens on a port of the system's choice, to be handed to another process.
private final class HandedSocket: Sendable {
    let descriptor: Int32
    let port: Int

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        try #require(isListening)
        port = Int(UInt16(bigEndian: name.sin_port))
    }

    deinit { close(descriptor) }
}

/// What a service tells its manager.
private final class NewsSocket: Sendable {
    let path: String
    private let descriptor: Int32

    init(path: String) throws {
        self.path = path
        descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_un()
        name.sun_family = sa_family_t(AF_UNIX)
        try #require(path.utf8.count < MemoryLayout.size(ofValue: name.sun_path))
        withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8) }
        let descriptor = descriptor
        let isBound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound)
    }

    deinit { close(descriptor) }

    /// Reads news until one has this line.
    func wait(for line: String) async throws {
        let descriptor = descriptor
        let isThere = await withHandover { continuation in
            Thread {
                var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                var buffer = [UInt8](repeating: 0, count: 4096)
                while poll(&event, 1, 30_000) > 0 {
                    let count = recv(descriptor, &buffer, buffer.count, 0)
                    let news = String(decoding: buffer[..<max(0, count)], as: UTF8.self)
                    if news.split(separator: "\n").contains(Substring(line)) {
                        return continuation.resume(returning: true)
                    }
                }
                continuation.resume(returning: false)
            }.start()
        }
        try #require(isThere, "\(line) was never told")
    }
}
