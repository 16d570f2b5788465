import Foundation
import Larder
import Testing

@testable import LarderServer

@Suite struct MetricsTests {
    @Test func aHistogramCountsUpwards() {
        var histogram = Histogram(bounds: [0.1, 1])
        for value in [0.05, 0.1, 0.5, 7] { histogram.observe(value) }
        #expect(
            histogram.lines("x", labels: "a=\"b\"") == """
                x_bucket{a="b",le="0.1"} 2
                x_bucket{a="b",le="1.0"} 3
                x_bucket{a="b",le="+Inf"} 4
                x_sum{a="b"} 7.65
                x_count{a="b"} 4

                """)
    }

    @Test func everythingPromisedIsTold() {
        let metrics = Metrics()
        metrics.request(route: .image, status: 200, bytes: 100, seconds: 0.002)
        metrics.image(.hit)
        metrics.image(.stale)
        metrics.connection(opened: true)
        var gauges = Metrics.Gauges()
        gauges.entries = 7
        gauges.waiting = 3
        let text = String(decoding: metrics.text(gauges), as: UTF8.self)
        for line in [
            "larder_http_requests_total{route=\"image\",status=\"200\"} 1", "larder_http_sent_bytes_total 100",
            "larder_images_total{source=\"hit\"} 1", "larder_images_total{source=\"miss\"} 0",
            "larder_http_request_duration_seconds_bucket{route=\"image\",le=\"0.0025\"} 1", "larder_connections 1",
            "larder_cache_entries 7", "larder_queue_waiting 3",
        ] {
            #expect(text.contains(line + "\n"), "\(line) is missing")
        }
    }
}

@Suite struct AccessLogTests {
    private func line(_ target: String, _ code: String = "") -> AccessLog.Line {
        AccessLog.Line(
            time: Timestamp(milliseconds: 1_768_478_400_005), peer: "127.0.0.1", method: "GET", target: target,
            route: "image", status: 200, bytes: 5, milliseconds: 1.23456, code: code, agent: "")
    }

    @Test func aLineIsOneObject() throws {
        var bytes: [UInt8] = []
        AccessLog.append(line("/\"\\\u{1}é", "hit"), to: &bytes)
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasSuffix("}\n") && text.filter { $0 == "\n" }.count == 1)
        let object = try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        #expect(object["target"] as? String == "/\"\\\u{1}é")
        #expect(object["time"] as? String == "2026-01-15T12:00:00.005Z")
        #expect(object["ms"] as? Double == 1.235)
        #expect(object["code"] as? String == "hit")
    }

    @Test(arguments: [
        ("/image?url=http://me:secret@e.com/a@b.png&w=3", "/image?url=http://***@e.com/a@b.png&w=3"),
        ("/image?url=https%3A%2F%2Fme%3Asecret%40e.com%2Fa%40b", "/image?url=https%3A%2F%2F***%40e.com%2Fa%40b"),
        ("/unsafe/3x3/http://me@secret@e.com/a", "/unsafe/3x3/http://***@e.com/a"),
        ("/image?url=https%3a%2f%2fme%40e.com%3fq", "/image?url=https%3a%2f%2f***%40e.com%3fq"),
        ("/image?url=http://e.com/a@b", "/image?url=http://e.com/a@b"), ("/a%40b", "/a%40b"),
        ("//@//@", "//***@//***@"),
    ])
    func credentialsOfURLsAreNotWrittenDown(target: String, written: String) {
        #expect(AccessLog.withoutCredentials(target) == written)
    }

    @Test func reopenFollowsARotatedFile() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("larder-log-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("access.log").path
        let log = try AccessLog(path: path)
        log.write(line("/one"))
        await log.flush()
        try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
        log.reopen()
        log.write(line("/two"))
        await log.flush()
        #expect(try String(contentsOfFile: path + ".1", encoding: .utf8).contains("/one"))
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("/two"))
    }

    @Test func aFileThatCannotBeWrittenIsSaid() {
        #expect(throws: ImageError.self) { try AccessLog(path: "/nonexistent/access.log") }
    }
}

@Suite struct ServiceManagerTests {
    @Test func notificationsArriveOnTheSocket() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("n\(UUID().uuidString.prefix(8))").path
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer {
            close(descriptor)
            unlink(path)
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let bound = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        #expect(ServiceManager(environment: ["NOTIFY_SOCKET": path]).notify("READY=1"))
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        #expect(String(decoding: buffer[..<max(0, count)], as: UTF8.self) == "READY=1")
        #expect(!ServiceManager(environment: [:]).notify("READY=1"))
    }

    @Test func socketsOfOthersAreLeftAlone() {
        #expect(ServiceManager(environment: ["LISTEN_PID": "1", "LISTEN_FDS": "1"]).listenDescriptors.isEmpty)
        #expect(
            ServiceManager(environment: ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "x"]).listenDescriptors.isEmpty)
    }

    @Test func theWatchdogIsMeantForThisProcess() {
        #expect(ServiceManager(environment: ["WATCHDOG_USEC": "3000000"]).watchdogInterval == 3_000_000)
        #expect(ServiceManager(environment: ["WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"]).watchdogInterval == nil)
    }
}

@Suite struct WorkPoolTests {
    @Test func beyondTheQueueClientsAreSentAway() async throws {
        let pool = WorkPool(name: "test", width: 1, queue: 1)
        let semaphore = DispatchSemaphore(value: 0)
        let first = Task { try await pool.run { semaphore.wait() } }
        try await eventually("the first") { pool.running > 0 }
        let second = Task { try await pool.run {} }
        try await eventually("the second") { pool.waiting > 0 }
        await #expect(throws: ImageError.self) { try await pool.run {} }
        semaphore.signal()
        try await first.value
        try await second.value
        try await pool.run {}
        #expect(pool.running == 0)
    }
}

@Suite struct VariantAllowanceTests {
    private let small = Transformation(width: 10, height: 10)

    @Test func onlyTheFirstKindsAreKept() {
        let allowance = VariantAllowance(maxKinds: 2)
        #expect(allowance.verdict(small, kind: "a", isTrusted: false) == .keep)
        #expect(allowance.verdict(small, kind: "b", isTrusted: false) == .keep)
        #expect(allowance.verdict(small, kind: "c", isTrusted: false) == .sendOnly)
        #expect(allowance.verdict(small, kind: "a", isTrusted: false) == .keep)
        #expect(allowance.verdict(small, kind: "c", isTrusted: true) == .keep)
    }

    @Test func namedSizesAreTheOnlyOnes() {
        let allowance = VariantAllowance(sizes: ["10x10"])
        #expect(allowance.verdict(small, kind: "a", isTrusted: false) == .keep)
        #expect(allowance.verdict(Transformation(width: 11), kind: "b", isTrusted: false) == .refuse)
        #expect(allowance.verdict(Transformation(width: 11), kind: "b", isTrusted: true) == .keep)
    }
}

@Suite struct VerifiedEntriesTests {
    @Test func aChangedFileIsAnother() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("v-\(UUID().uuidString)").path
        defer { unlink(path) }
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        let verified = VerifiedEntries(capacity: 4)
        let before = try #require(VerifiedEntries.Identity(descriptor: descriptor))
        verified.insert(before)
        #expect(verified.contains(before))
        _ = write(descriptor, "x", 1)
        let after = try #require(VerifiedEntries.Identity(descriptor: descriptor))
        #expect(!verified.contains(after))
    }
}
