import Foundation

/// An https server on loopback with a certificate made on the spot, through the `openssl` command: it answers
/// `/image` with ``HostileCase/image`` and `/down` with a redirect to http.
public final class TLSOrigin {
    public enum Fault: String, Sendable, CaseIterable {
        case none, expired, wrongHost, selfSigned, oldVersion
    }

    public struct Failure: Error { public var message: String }

    /// Whether the `openssl` command is there.
    public static let isAvailable = FileManager.default.isExecutableFile(atPath: openssl)
    private static let openssl = "/usr/bin/openssl"

    public let port: Int
    /// The certificate of the authority that signed the server's, in PEM.
    public let authority: String
    private let directory: URL
    private let server: Process
    /// Closed with this object: the server then ends, also when the test process dies.
    private let lifeline = Pipe()

    public func url(_ path: String) -> URL { URL(string: "https://127.0.0.1:\(port)\(path)")! }

    public init(_ fault: Fault) throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("larder-tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        authority = directory.appendingPathComponent("ca.pem").path
        server = Process()
        let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        let name = fault == .wrongHost ? "DNS:other.example" : "IP:127.0.0.1"
        let request = key + ["-keyout", "key.pem", "-subj", "/CN=test", "-addext", "subjectAltName=\(name)"]
        try Self.run(
            ["req", "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-days", "9", "-subj", "/CN=Test authority"] + key,
            in: directory)
        if fault == .selfSigned {
            try Self.run(["req", "-x509", "-out", "cert.pem", "-days", "9"] + request, in: directory)
        } else {
            try Self.run(["req", "-out", "cert.csr"] + request, in: directory)
            try Self.run(
                [
                    "x509", "-req", "-in", "cert.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out",
                    "cert.pem", "-copy_extensions", "copy", "-days", fault == .expired ? "-1" : "9",
                ], in: directory)
        }
        let image = HostileCase.image
        let length = [("Content-Length", String(image.count)), ("Connection", "close")]
        try Data(OriginReply.head(200, length) + image).write(to: directory.appendingPathComponent("image"))
        let down = OriginReply.head(302, [("Location", "http://127.0.0.1:1/image"), ("Content-Length", "0")])
        try Data(down).write(to: directory.appendingPathComponent("down"))

        let version = fault == .oldVersion ? "-tls1_1 -cipher ALL:@SECLEVEL=0" : ""
        let output = Pipe()
        // Not inherited by the servers of other tests, which would keep this one alive.
        _ = fcntl(lifeline.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        server.executableURL = URL(fileURLWithPath: "/bin/sh")
        server.arguments = [
            "-c",
            """
            \(Self.openssl) s_server -accept 127.0.0.1:0 -cert cert.pem -key key.pem -HTTP \(version) 2>/dev/null &
            cat >/dev/null; kill -9 $!
            """,
        ]
        server.currentDirectoryURL = directory
        server.standardInput = lifeline
        server.standardOutput = output
        try server.run()
        var text = ""
        while let chunk = try output.fileHandleForReading.read(upToCount: 1), !chunk.isEmpty {
            text += String(decoding: chunk, as: UTF8.self)
            if text.hasSuffix("\n"), let line = text.split(separator: "\n").last, line.hasPrefix("ACCEPT") { break }
        }
        guard let port = text.split(separator: "\n").last?.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw Failure(message: "openssl s_server did not start: \(text)")
        }
        self.port = port
    }

    deinit {
        try? lifeline.fileHandleForWriting.close()
        try? FileManager.default.removeItem(at: directory)
    }

    private static func run(_ arguments: [String], in directory: URL) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: openssl)
        process.arguments = arguments
        process.currentDirectoryURL = directory
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(message: "openssl \(arguments.joined(separator: " ")) failed")
        }
    }
}
