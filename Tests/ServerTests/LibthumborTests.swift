import Foundation
import Larder
import Testing

@testable import LarderServer

/// URLs signed by thumbor's own library. Skipped where it is not installed: `pip install libthumbor`.
@Suite(.enabled(if: Libthumbor.isInstalled, "libthumbor is not installed for python3"))
struct LibthumborTests {
    @Test func whatItSignsIsTakenAndAChangedByteIsNot() throws {
        let router = Router(signer: URLSigner(key: Secret("my-security-key")!))
        let paths = try Libthumbor.paths()
        #expect(paths.count == 5)
        for path in paths {
            guard case .image(let url, _, .signature) = try router.route(.get, RequestTarget(path)) else {
                Issue.record("\(path) is no signed image")
                continue
            }
            #expect(url.hasPrefix("http://images.example/"))
            // A byte of the signature, and one of the path.
            for index in [3, path.utf8.count - 2] {
                var bytes = Array(path.utf8)
                bytes[index] = bytes[index] == 0x61 ? 0x62 : 0x61
                let changed = String(decoding: bytes, as: UTF8.self)
                #expect(throws: Problem.self, "\(changed)") { try router.route(.get, RequestTarget(changed)) }
            }
        }
    }
}

private enum Libthumbor {
    static let isInstalled = (try? run("import libthumbor")) != nil

    static func paths() throws -> [String] {
        try run(
            """
            from libthumbor import CryptoURL
            crypto = CryptoURL(key="my-security-key")
            image = "images.example/some/image.jpg"
            for options in [dict(width=300, height=200), dict(width=300, height=200, smart=True),
                            dict(width=300, height=200, fit_in=True), dict(width=300),
                            dict(width=300, height=200, filters=["quality(70)", "format(png)"])]:
                print(crypto.generate(image_url="http://" + image if "smart" in options else image, **options))
            """
        ).split(separator: "\n").map(String.init)
    }

    private static func run(_ script: String) throws -> String {
        struct Failed: Error {}
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", script]
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failed() }
        return String(decoding: data, as: UTF8.self)
    }
}
