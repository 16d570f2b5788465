import Foundation
import Larder
import TestSupport

@testable import LarderCommand

/// Commands run in this process against an origin on loopback, with a folder for their files.
struct PrefetchFixture {
    let origin: Origin
    let kept = KeptConsole()
    private let directory = TemporaryDirectory()
    var folder: String { directory.path }

    init() throws {
        origin = try Origin()
    }

    var cache: String { folder + "/cache" }

    func run(_ arguments: String...) async -> LarderCommand.ExitStatus { await run(arguments) }

    func run(_ arguments: [String]) async -> LarderCommand.ExitStatus {
        let workers = arguments[0] == "prefetch" ? ["--workers", "0"] : []
        return await Program.run(arguments + ["--cache", cache, "--retry", "0"] + workers, kept.console())
    }

    /// Serves a picture under that path, fresh for a while, and gives its URL.
    @discardableResult
    func serve(_ path: String, cacheControl: String = "max-age=1000") throws -> String {
        origin.on(path, .ok(try Self.picture(), [("Cache-Control", cacheControl)]))
        return url(path)
    }

    static func picture() throws -> [UInt8] {
        try ImageEncoder.png(
            Bitmap(width: 8, height: 6, hasAlpha: false) { (pixels, _) throws(ImageError) in
                for place in pixels.indices { pixels[place] = place % 4 == 3 ? 255 : UInt8(place % 251) }
            })
    }

    func url(_ path: String) -> String { origin.url(path).absoluteString }

    func path(_ name: String) -> String { folder + "/" + name }

    /// Writes a file of that name and gives its path.
    func write(_ text: String, _ name: String) throws -> String {
        try text.write(toFile: path(name), atomically: false, encoding: .utf8)
        return path(name)
    }

    func manifest(_ lines: [String]) throws -> String { try write(lines.joined(separator: "\n"), "urls.txt") }

    func report(_ name: String) throws -> [[String: Any]] {
        try String(contentsOfFile: path(name), encoding: .utf8).split(separator: "\n").map {
            try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
        }
    }

    /// The last line that went to standard output.
    func summary() throws -> [String: Any] {
        let line = kept.out.split(separator: "\n").last ?? ""
        return try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
    }
}
