import Foundation
import Glibc
import Larder

/// A headless Chromium, driven over its debugging pipe: NUL-terminated JSON in and out, no port and no library.
final class Chromium: @unchecked Sendable {
    // Sendable: what changes is touched only on `queue`, one thing after the other.
    static let path = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

    struct Failure: Error, CustomStringConvertible { var description: String }

    private let queue = DispatchQueue(label: "chromium")
    private let process = Process()
    private let folder: URL
    private let input: Int32
    private let output: Int32
    private var buffer: [UInt8] = []
    private var lastID = 0
    private var session: String?
    /// What went wrong in the page, and which addresses it asked for.
    private var errors: [String] = []
    private var requested: [String] = []

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("larder-chromium-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let (commands, replies) = (folder.path + "/in", folder.path + "/out")
        guard mkfifo(commands, 0o600) == 0, mkfifo(replies, 0o600) == 0 else {
            throw Failure(description: "mkfifo: \(String(cString: strerror(errno)))")
        }
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        let script = """
            exec "$0" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
            --remote-debugging-pipe --user-data-dir="$1/profile" about:blank 3<"$1/in" 4>"$1/out" >/dev/null 2>&1
            """
        process.arguments = ["-c", script, Self.path ?? "", folder.path]
        try process.run()
        // Each waits for the shell to open the other end.
        input = Glibc.open(commands, O_WRONLY | O_CLOEXEC)
        output = Glibc.open(replies, O_RDONLY | O_CLOEXEC)
    }

    deinit {
        process.terminate()
        close(input)
        close(output)
        process.waitUntilExit()
        try? FileManager.default.removeItem(at: folder)
    }

    /// Opens a page in a window of that size.
    func open(_ url: String, width: Int = 1280, height: Int = 860, isDark: Bool = false) async throws {
        try await onQueue { [self] in
            let target = try call("Target.createTarget", ["url": "about:blank"])
            let attached = try call(
                "Target.attachToTarget", ["targetId": target["targetId"] as? String ?? "", "flatten": true])
            session = attached["sessionId"] as? String
            for domain in ["Page", "Runtime", "Log", "Network"] { _ = try call("\(domain).enable", [:]) }
            _ = try call(
                "Emulation.setDeviceMetricsOverride",
                ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": false])
            _ = try call(
                "Emulation.setEmulatedMedia",
                ["features": [["name": "prefers-color-scheme", "value": isDark ? "dark" : "light"]]])
            _ = try call("Page.navigate", ["url": url])
        }
    }

    /// The value of an expression; a promise is waited for.
    func evaluate(_ expression: String) async throws -> String {
        try await onQueue { [self] in
            let reply = try call(
                "Runtime.evaluate",
                [
                    "expression": "Promise.resolve(\(expression)).then(String)", "awaitPromise": true,
                    "returnByValue": true,
                ])
            if let exception = reply["exceptionDetails"] { throw Failure(description: "\(expression): \(exception)") }
            return (reply["result"] as? [String: Any])?["value"] as? String ?? ""
        }
    }

    /// Waits, in the page, until an expression holds; throws after half a minute.
    func wait(for expression: String) async throws {
        let script = """
            new Promise((done) => { const end = performance.now() + 30000; const look = () => {
              let holds = false; try { holds = \(expression); } catch {}
              holds ? done("yes") : performance.now() > end ? done("no") : setTimeout(look, 30); }; look(); })
            """
        guard try await evaluate(script) == "yes" else {
            throw Failure(description: "it never came: \(expression)")
        }
    }

    func screenshot(_ path: String) async throws {
        try await onQueue { [self] in
            let reply = try call("Page.captureScreenshot", ["format": "png"])
            guard let text = reply["data"] as? String, let data = Data(base64Encoded: text) else { return }
            try data.write(to: URL(fileURLWithPath: path))
        }
    }

    /// Errors of the console so far, and the addresses that were asked for.
    func record() async throws -> (errors: [String], requested: [String]) {
        try await onQueue { [self] in
            _ = try call("Runtime.evaluate", ["expression": "1"])
            return (errors, requested)
        }
    }

    private func onQueue<Success: Sendable>(_ body: @escaping @Sendable () throws -> Success) async throws -> Success {
        try await withHandover { handover in
            queue.async { handover.resume(returning: Result { try body() }) }
        }.get()
    }

    private func call(_ method: String, _ parameters: [String: Any]) throws -> [String: Any] {
        lastID += 1
        var message: [String: Any] = ["id": lastID, "method": method, "params": parameters]
        if let session { message["sessionId"] = session }
        let bytes = [UInt8](try JSONSerialization.data(withJSONObject: message)) + [0]
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { write(input, $0.baseAddress! + sent, bytes.count - sent) }
            guard count > 0 else { throw Failure(description: "Chromium has gone") }
            sent += count
        }
        while true {
            let reply = try next()
            guard reply["id"] as? Int == lastID else {
                note(reply)
                continue
            }
            if let error = reply["error"] { throw Failure(description: "\(method): \(error)") }
            return reply["result"] as? [String: Any] ?? [:]
        }
    }

    private func note(_ event: [String: Any]) {
        let parameters = event["params"] as? [String: Any] ?? [:]
        switch event["method"] as? String {
        case "Runtime.exceptionThrown": errors.append("\(parameters)")
        case "Runtime.consoleAPICalled" where parameters["type"] as? String == "error": errors.append("\(parameters)")
        case "Log.entryAdded":
            let entry = parameters["entry"] as? [String: Any] ?? [:]
            if entry["level"] as? String == "error" { errors.append("\(entry["text"] ?? "") \(entry["url"] ?? "")") }
        case "Network.requestWillBeSent":
            if let url = (parameters["request"] as? [String: Any])?["url"] as? String { requested.append(url) }
        default: break
        }
    }

    private func next() throws -> [String: Any] {
        while true {
            if let end = buffer.firstIndex(of: 0) {
                let data = Data(buffer[..<end])
                buffer.removeSubrange(...end)
                return try JSONSerialization.jsonObject(with: data) as? [String: Any] ?? [:]
            }
            var event = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&event, 1, 60_000) > 0 else { throw Failure(description: "Chromium does not answer") }
            var chunk = [UInt8](repeating: 0, count: 256 << 10)
            let count = read(output, &chunk, chunk.count)
            guard count > 0 else { throw Failure(description: "Chromium has gone") }
            buffer += chunk[..<count]
        }
    }
}
