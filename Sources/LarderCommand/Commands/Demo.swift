import Foundation
import Larder
import LarderPrefetch

extension Command {
    /// What `make run` shows: the main job on images that larder draws itself.
    static let demo = Command(
        name: "demo", summary: "the main job on sample images, served on loopback",
        options: [
            .value("size", short: "s", "SIZE", "thumbnails", default: "256", repeatable: true),
            .value("manifest", "FILE", "where the list is written", default: "sample.jsonl in the cache directory"),
        ], isHidden: true,
        run: { arguments, console in try await DemoCommand(arguments, console).run() })
}

/// `larder demo`.
struct DemoCommand: Sendable {
    private static let count = 24
    private let arguments: Arguments
    private let console: Console
    private let cache: String

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        cache = try arguments.string("cache") ?? "cache"
    }

    func run() async throws -> ExitStatus {
        let executor = BlockingExecutor(name: "larder-demo", width: 1)
        let origin: DemoOrigin
        let names: [String]
        do throws(ImageError) {
            // One after the other on its own thread: drawing takes a moment.
            let samples = try await executor.run { () throws(ImageError) in
                var samples: [(name: String, bytes: [UInt8])] = []
                for index in 0..<Self.count { samples.append(try SampleImages.picture(index)) }
                return samples
            }
            names = samples.map(\.name)
            var files: [String: DemoOrigin.File] = [:]
            for sample in samples {
                let format = ImageFormat.detect(sample.bytes) ?? .jpeg
                files["/" + sample.name] = .init(bytes: sample.bytes, contentType: format.contentType)
            }
            files["/not-an-image.jpg"] = .init(bytes: Array("<h1>Sorry</h1>".utf8), contentType: "image/jpeg")
            origin = try DemoOrigin(files)
        } catch {
            throw CommandFailure("the sample images cannot be served: \(error)")
        }
        // In a directory that is ours: a known name in a shared one may be another's link.
        do throws(ImageError) { try DiskTier(directory: cache).close() } catch {
            throw CommandFailure("the cache directory \(cache) cannot be used: \(error.details.detail)")
        }
        let manifest = try arguments.string("manifest") ?? cache + "/sample.jsonl"
        try write(names, origin, to: manifest)
        console.note("\(names.count) sample images are served on 127.0.0.1:\(origin.port); the list is \(manifest).")
        console.note("Two of its rows fail on purpose: one image is missing, one is no image.\n")
        let report = cache + "/report.jsonl"
        let status = try await prefetch(manifest, report)
        withExtendedLifetime(origin) {}
        guard status == .someFailed else { return status }
        console.note(
            """

            The two failures were meant to be: this is how they look, and why the exit status is 1.
            Try next:
              \(console.program) prefetch \(manifest) --offline --cache \(cache)
                                              again, from the cache alone
              \(console.program) inspect --deep \(cache)/??/*
                                              what lies there
              make run MANIFEST=urls.txt      your own list
            """)
        return status
    }

    private func prefetch(_ manifest: String, _ report: String) async throws -> ExitStatus {
        var words = [manifest, "--cache", cache, "--progress", "always", "--retry", "0"]
        for size in try arguments.strings("size").isEmpty ? ["256"] : arguments.strings("size") {
            words += ["--size", size]
        }
        let parser = ArgumentParser(Command.prefetch.allOptions, environment: console.environment)
        return try await PrefetchCommand(try parser.parse(words), console).run()
    }

    private func write(_ names: [String], _ origin: DemoOrigin, to path: String) throws {
        var lines = names.map { #"{"id":"\#($0)","url":"\#(origin.url("/" + $0))"}"# }
        lines.insert(#"{"id":"missing","url":"\#(origin.url("/missing.jpg"))"}"#, at: min(3, lines.count))
        lines.append(#"{"id":"no-image","url":"\#(origin.url("/not-an-image.jpg"))"}"#)
        do { try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: path)) } catch {
            throw CommandFailure("the list \(path) cannot be written: \(error.localizedDescription)")
        }
    }
}
