import Foundation
import Larder
import LarderPrefetch
import LarderWorkers

extension Command {
    static let thumbnail = Command(
        name: "thumbnail", summary: "thumbnails of local files, without network or cache", operands: "FILE...",
        examples: [
            ("larder thumbnail *.jpg -s 256 -o thumbs", "no side longer than 256 pixels"),
            ("larder thumbnail a.png -s 128x128 --crop -o thumbs", "fill the box and cut the rest"),
        ],
        options: [
            .value("size", short: "s", "SIZE", "256, 256x256, x128, and > < !", repeatable: true, common: true),
            .value("output", short: "o", "DIR", "where they go", common: true, completion: .directory),
            .flag("crop", "fill the box of --size and cut the rest", common: true),
            .value(
                "format", "NAME", "of thumbnails", default: "jpeg, png with alpha", choices: ["jpeg", "png"],
                common: true),
            .value("quality", "N", "of JPEG thumbnails", default: "85", common: true),
            .value("parallel-max", short: "j", "N", "files at once", default: "processors"),
            .value("max-pixels", "N", "refuse larger pictures, by their header", default: "100M"),
        ],
        details: [
            "Thumbnails are upright and named as their files; with several sizes, the size stands behind the name. A call "
                + "in which one could replace a file that is given is refused."
        ],
        run: { arguments, console in try await ThumbnailCommand(arguments, console).run() })
}

/// Options about thumbnails that several commands have.
enum ThumbnailOptions {
    static func sizes(_ arguments: Arguments) throws(UsageError) -> [ThumbnailSize] {
        let crops = try arguments.flag("crop")
        var sizes: [ThumbnailSize] = []
        for text in try arguments.strings("size") {
            guard var size = ThumbnailSize(text) else {
                throw UsageError(
                    "--size cannot be '\(text)'", hint: "It wants 256, 256x256 or x128, and then >, < or ! if needed.")
            }
            size.crop = crops
            if !sizes.contains(size) { sizes.append(size) }
        }
        return sizes
    }

    static func output(_ arguments: Arguments) throws(UsageError) -> ThumbnailOutput {
        var output = ThumbnailOutput()
        output.format = try arguments.string("format").flatMap { ImageFormat(rawValue: $0) }
        output.quality = try arguments.integer("quality", in: 1...100) ?? output.quality
        return output
    }
}

/// `larder thumbnail`.
struct ThumbnailCommand: Sendable {
    private let console: Console
    private let files: [String]
    private let directory: String
    private let sizes: [ThumbnailSize]
    private let output: ThumbnailOutput
    private let limits: ImageLimits
    private let parallel: Int
    private let isJSON: Bool
    private let isQuiet: Bool

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.console = console
        files = arguments.operands
        sizes = try ThumbnailOptions.sizes(arguments)
        output = try ThumbnailOptions.output(arguments)
        var limits = ImageLimits()
        limits.maxPixels = try arguments.count("max-pixels") ?? limits.maxPixels
        self.limits = limits
        parallel = try arguments.integer("parallel-max", in: 1...256) ?? ProcessInfo.processInfo.activeProcessorCount
        isJSON = try arguments.flag("json")
        isQuiet = try arguments.flag("quiet")
        guard !files.isEmpty else {
            throw UsageError("thumbnail wants a file", hint: "larder thumbnail a.jpg -s 256 -o thumbs")
        }
        guard !sizes.isEmpty else { throw UsageError("thumbnail wants a size", hint: "-s 256, for example") }
        guard let directory = try arguments.string("output") else {
            throw UsageError("thumbnail wants a directory to write to", hint: "-o thumbs, for example")
        }
        self.directory = directory
        var names: [String: String] = [:]
        for file in files {
            if let other = names.updateValue(file, forKey: Self.name(file)) {
                throw UsageError(
                    "\(other) and \(file) would have the same thumbnail",
                    hint: "Make them in two calls, with two directories.")
            }
        }
    }

    func run() async throws -> ExitStatus {
        try refuseReplacing()
        do { try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true) } catch {
            throw CommandFailure("the directory \(directory) cannot be made: \(error.localizedDescription)")
        }
        let executor = BlockingExecutor(name: "larder-thumbnail", width: parallel)
        let abort = AbortFlag()
        let signals = SignalWatch { abort.abort() }
        var failures = 0
        // A few more than there are threads, so that none waits, and in the files' order.
        var running: [(file: String, task: Task<Result<[Made], ImageError>, Never>)] = []
        var rest = files[...]
        while !running.isEmpty || !rest.isEmpty {
            while running.count < parallel * 2, let file = rest.popFirst(), signals.status == nil {
                running.append((file, Task { await executor.perform { make(file, abort) } }))
            }
            guard !running.isEmpty else { break }
            let (file, task) = running.removeFirst()
            let result = await task.value
            if case .failure = result { failures += 1 }
            try show(file, result)
        }
        if let status = signals.status { return status }
        return failures == 0 ? .success : failures == files.count ? .noneSucceeded : .someFailed
    }

    private struct Made: Sendable {
        var size: ThumbnailSize
        var width: Int
        var height: Int
        var bytes: Int
        var path: String
    }

    /// A file that is to have a thumbnail must not become one, whatever name leads to it. Of the formats that it may be
    /// in, which shows when it is made, none may hit it.
    private func refuseReplacing() throws(UsageError) {
        let given = Set(files.compactMap { FileIdentity($0) })
        for file in files {
            for size in sizes {
                for format in output.format.map({ [$0] }) ?? [.jpeg, .png] {
                    let path = target(file, size, format)
                    guard let identity = FileIdentity(path), given.contains(identity) else { continue }
                    throw UsageError(
                        "the thumbnail of \(file) would replace \(path), one of the files given",
                        hint: "-o names another directory" + (output.format == nil ? ", --format a format." : "."))
                }
            }
        }
    }

    /// Where a thumbnail goes.
    private func target(_ file: String, _ size: ThumbnailSize, _ format: ImageFormat) -> String {
        let suffix = sizes.count > 1 ? "-" + RowExporter.plain(size.description) : ""
        return "\(directory)/\(Self.name(file))\(suffix).\(format.fileExtension)"
    }

    private func make(_ file: String, _ abort: AbortFlag) -> Result<[Made], ImageError> {
        do throws(ImageError) {
            let bytes = try PlainFile.read(file, limit: limits.maxDecodeBytes)
            let thumbnails: Result<[Thumbnail], ImageError> = bytes.withUnsafeBytes { bytes in
                do throws(ImageError) {
                    return .success(
                        try Thumbnailer.make(bytes, sizes: sizes, output: output, limits: limits, abort: abort))
                } catch {
                    return .failure(error)
                }
            }
            var made: [Made] = []
            for thumbnail in try thumbnails.get() {
                let path = target(file, thumbnail.size, thumbnail.format)
                try PlainFile.write(thumbnail.bytes, to: path)
                made.append(
                    Made(
                        size: thumbnail.size, width: thumbnail.width, height: thumbnail.height,
                        bytes: thumbnail.bytes.count, path: path))
            }
            return .success(made)
        } catch {
            return .failure(error)
        }
    }

    private func show(_ file: String, _ result: Result<[Made], ImageError>) throws {
        switch result {
        case .success(let made):
            if isJSON { return try console.out(Self.json(file, made, nil)) }
            guard !isQuiet else { return }
            for one in made {
                try console.print("\(one.path.harmless): \(one.width) x \(one.height), \(Amount.bytes(one.bytes))")
            }
        case .failure(let error):
            if isJSON { return try console.out(Self.json(file, [], error)) }
            console.fail(
                "\(file): \(error.message(in: console.language))", hint: "\(error.code): \(error.details.detail)")
        }
    }

    private static func json(_ file: String, _ made: [Made], _ error: ImageError?) -> [UInt8] {
        var line = JSONWriter()
        line.raw("{")
        line.member("file", file)
        line.member("valid", error == nil)
        line.key("thumbnails")
        line.raw("[")
        for (index, one) in made.enumerated() {
            if index > 0 { line.raw(",") }
            line.raw("{")
            line.member("size", one.size.description)
            line.member("width", one.width)
            line.member("height", one.height)
            line.member("bytes", one.bytes)
            line.member("file", one.path)
            line.raw("}")
        }
        line.raw("]")
        if let error {
            line.key("error")
            line.raw("{")
            line.member("code", error.code)
            line.member("message", error.message(in: .english))
            line.raw("}")
        }
        line.raw("}\n")
        return line.bytes
    }

    /// The file's name without folders and extension.
    private static func name(_ file: String) -> String {
        let last = file.split(separator: "/").last.map(String.init) ?? file
        guard let dot = last.lastIndex(of: "."), dot > last.startIndex else { return last }
        return String(last[..<dot])
    }
}

/// Which file a path leads to: the same for every path to it.
private struct FileIdentity: Hashable {
    private let device: dev_t
    private let number: ino_t

    /// nil where there is none.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        (device, number) = (status.st_dev, status.st_ino)
    }
}
