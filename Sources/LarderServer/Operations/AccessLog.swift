import Foundation
import Larder

/// One line of JSON a request, written by a thread of its own so that no answer waits for a disk.
///
/// What cannot be written soon enough is dropped and counted, never held without bound. `reopen()` follows logrotate.
package final class AccessLog: Sendable {
    package struct Line: Sendable {
        package var time: Timestamp
        package var peer: String
        package var method: String
        package var target: String
        package var route: String
        package var status: Int
        package var bytes: Int
        package var milliseconds: Double
        package var code: String
        package var agent: String

        package init(
            time: Timestamp, peer: String, method: String, target: String, route: String, status: Int, bytes: Int,
            milliseconds: Double, code: String, agent: String
        ) {
            self.time = time
            self.peer = peer
            self.method = method
            self.target = target
            self.route = route
            self.status = status
            self.bytes = bytes
            self.milliseconds = milliseconds
            self.code = code
            self.agent = agent
        }
    }

    private struct State {
        var lines: [Line] = []
        var dropped = 0
        var isWriting = false
    }

    private final class Sink: @unchecked Sendable {
        // Sendable: touched only on `writer`, whose one thread does one thing after the other.
        var descriptor: Int32
        init(_ descriptor: Int32) { self.descriptor = descriptor }
        deinit { if descriptor > 2 { close(descriptor) } }
    }

    private static let maxWaiting = 65_536
    private let path: String?
    private let sink: Sink
    private let state = Lock(State())
    private let writer = BlockingExecutor(name: "access-log", width: 1)

    /// - Parameter path: a file to append to, or `-` for standard output.
    package init(path: String) throws(ImageError) {
        self.path = path == "-" ? nil : path
        sink = Sink(path == "-" ? 1 : try Self.open(path))
    }

    private static func open(_ path: String) throws(ImageError) -> Int32 {
        let descriptor = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o640)
        guard descriptor >= 0 else {
            throw .cacheUnavailable(.init("cannot write the access log \(path): \(String(cString: strerror(errno)))"))
        }
        return descriptor
    }

    package func write(_ line: Line) {
        let starts = state.withLock { state -> Bool in
            guard state.lines.count < Self.maxWaiting else {
                state.dropped += 1
                return false
            }
            state.lines.append(line)
            guard !state.isWriting else { return false }
            state.isWriting = true
            return true
        }
        if starts { writer.detach { [self] in drain() } }
    }

    /// Opens the file anew; the old one stays in use where that fails.
    package func reopen() {
        guard let path else { return }
        writer.detach { [sink] in
            guard let descriptor = try? Self.open(path) else { return }
            close(sink.descriptor)
            sink.descriptor = descriptor
        }
    }

    /// Returns when everything so far is written.
    package func flush() async { await writer.perform {} }

    private func drain() {
        while true {
            let (lines, dropped) = state.withLock { state -> ([Line], Int) in
                let taken = (state.lines, state.dropped)
                state.lines = []
                state.dropped = 0
                state.isWriting = !taken.0.isEmpty || taken.1 > 0
                return taken
            }
            if lines.isEmpty, dropped == 0 { return }
            var bytes: [UInt8] = []
            for line in lines { Self.append(line, to: &bytes) }
            if dropped > 0 { bytes += Array("{\"dropped\":\(dropped)}\n".utf8) }
            bytes.withUnsafeBytes { buffer in
                var rest = buffer
                while let base = rest.baseAddress, !rest.isEmpty {
                    let count = Glibc.write(sink.descriptor, base, rest.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { return }
                    rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
                }
            }
        }
    }

    static func append(_ line: Line, to bytes: inout [UInt8]) {
        func text(_ name: String, _ value: String) {
            bytes += Array("\"\(name)\":".utf8)
            appendQuoted(value, to: &bytes)
            bytes.append(UInt8(ascii: ","))
        }
        bytes.append(UInt8(ascii: "{"))
        text("time", line.time.iso8601)
        text("peer", line.peer)
        text("method", line.method)
        text("target", withoutCredentials(line.target))
        text("route", line.route)
        if !line.code.isEmpty { text("code", line.code) }
        if !line.agent.isEmpty { text("agent", line.agent) }
        let milliseconds = (line.milliseconds * 1000).rounded() / 1000
        bytes += Array("\"status\":\(line.status),\"bytes\":\(line.bytes),\"ms\":\(milliseconds)}\n".utf8)
    }

    /// The same without user names and passwords of the URLs in it, which `/image` and thumbor's paths may carry.
    static func withoutCredentials(_ target: String) -> String {
        guard target.contains("@") || target.contains("%40") else { return target }
        var rest = target[...]
        var kept = ""
        while let slashes = rest.firstMatch(of: /(?:\/|%2f){2}/.ignoresCase()) {
            kept += rest[..<slashes.range.upperBound]
            rest = rest[slashes.range.upperBound...]
            let authority = rest.prefix { !"/?&#".contains($0) }
            let end = authority.firstMatch(of: /%2f|%3f|%23/.ignoresCase())?.range.lowerBound ?? authority.endIndex
            guard let at = authority[..<end].matches(of: /@|%40/).last?.range else { continue }
            kept += "***"
            rest = rest[at.lowerBound...]
        }
        return kept + rest
    }

    private static func appendQuoted(_ value: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for byte in value.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case ..<0x20, 0x7f:
                bytes += Array("\\u00".utf8) + Array([byte].hex.utf8)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
