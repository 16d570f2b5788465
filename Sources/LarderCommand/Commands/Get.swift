import Foundation
import Larder
import LarderPrefetch
import LarderWorkers

extension Command {
    static let get = Command(
        name: "get", summary: "one or a few images through the cache", operands: "URL...",
        examples: [
            ("larder get https://example.com/a.jpg", "cache it and say what it is"),
            ("larder get https://example.com/a.jpg -o a.jpg", "and write it to a file"),
            ("larder get https://example.com/a.jpg -o - | display", "or to standard output"),
        ],
        options: [
            .value(
                "output", short: "o", "PATH|-", "write the image to this file or directory", common: true,
                completion: .file),
            .value("sha256", "HEX", "refuse other bytes than these"),
        ] + LoadingOptions.table,
        details: [
            "What is fresh in the cache is not fetched. `--json` prints a line as in prefetch's report. Without `-o`, an "
                + "image that the cache cannot take is a failure: `cache_unavailable`."
        ],
        run: { arguments, console in try await GetCommand(arguments, console).run() })
}

/// `larder get`.
struct GetCommand: Sendable {
    private let arguments: Arguments
    private let console: Console
    private let urls: [String]
    private let output: String?
    private let sha256: String?
    private let isJSON: Bool
    private let isQuiet: Bool
    private let loading: LoadingOptions

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        urls = arguments.operands
        output = try arguments.string("output")
        sha256 = try arguments.string("sha256")?.lowercased()
        isJSON = try arguments.flag("json")
        isQuiet = try arguments.flag("quiet")
        loading = try LoadingOptions(arguments)
        guard !urls.isEmpty else { throw UsageError("get wants a URL", hint: "larder get https://example.com/a.jpg") }
        if let sha256, sha256.count != 64 || !sha256.allSatisfy(\.isHexDigit) {
            throw UsageError("--sha256 wants 64 hex digits")
        }
        if output == "-", isJSON { throw UsageError("--json and -o - both want standard output") }
    }

    func run() async throws -> ExitStatus {
        if let output, urls.count > 1, output != "-", !Self.isDirectory(output) {
            throw UsageError("-o must name a directory for several URLs: \(output)")
        }
        let loader = try LoaderSetup.loader(arguments, loading, console)
        if output == nil { try LoaderSetup.checkThatItKeeps(loader, loading) }
        let executor = BlockingExecutor(name: "larder-output", width: 1)
        let working = Task {
            var failures = 0
            for (index, text) in urls.enumerated() {
                let row = Row(number: index + 1, url: text, sha256: sha256)
                if !(try await get(row, loader, executor)) { failures += 1 }
                if Task.isCancelled { break }
            }
            return failures
        }
        let signals = SignalWatch { working.cancel() }
        let failures = try await working.value
        await executor.perform { loader.disk?.close() }
        if let status = signals.status { return status }
        return failures == 0 ? .success : failures == urls.count ? .noneSucceeded : .someFailed
    }

    private func get(_ row: Row, _ loader: ImageLoader, _ executor: BlockingExecutor) async throws -> Bool {
        let image: StoredImage
        let key: CacheKey
        var bytes: [UInt8] = []
        do throws(ImageError) {
            let url = try NormalizedURL(row.url)
            key = CacheKey(url: url.string)
            image = try await loader.store(
                ImageRequest(
                    url: try url.url(), fields: loading.connection.fields, priority: .high,
                    cachePolicy: loading.policy, sha256: row.sha256))
            if output != nil {
                bytes = try await executor.run { () throws(ImageError) in try image.payload() }
            }
        } catch {
            let attempts = error.details.attempts ?? 0
            try show(row, failure: RowError(error), error.message(in: console.language), attempts: attempts)
            return false
        }
        if let output, output != "-" {
            let format = image.header.format
            do throws(ImageError) {
                try await executor.run { [bytes] () throws(ImageError) in
                    guard Self.isDirectory(output) else { return try PlainFile.write(bytes, toNamed: output) }
                    let name = RowExporter.name(of: row, key: key) + "." + format.fileExtension
                    try PlainFile.write(bytes, to: output + "/" + name)
                }
            } catch {
                // The image is there: it is the file that is not.
                let failure = RowError(code: error.code, message: error.details.detail)
                try show(row, failure: failure, failure.message, attempts: image.attempts)
                return false
            }
        }
        if output == nil, image.isUnkept {
            let error = RowError.notKept
            try show(row, failure: error, console.language.translating(error.message), attempts: image.attempts)
            return false
        }
        if output == "-" { try console.out(bytes) }
        try show(row, image)
        return true
    }

    private func show(_ row: Row, failure error: RowError, _ message: String, attempts: Int) throws {
        if isJSON {
            var line: [UInt8] = []
            ReportLine.append(row, .failure(error, attempts: attempts), to: &line)
            return try console.out(line)
        }
        console.fail(
            "\(row.url): \(message)", hint: error.detail.isEmpty ? nil : "\(error.code): \(error.detail)")
    }

    private func show(_ row: Row, _ image: StoredImage) throws {
        if isJSON {
            var line: [UInt8] = []
            ReportLine.append(row, RowResult(image), to: &line)
            return try console.out(line)
        }
        guard !isQuiet, output == nil else { return }
        let header = image.header
        var parts = [
            header.format.rawValue, "\(header.width) x \(header.height)", Amount.bytes(image.bytes),
            image.source == .network ? "from the network" : "from the cache",
        ]
        if image.isStale { parts.append("stale") }
        if let file = image.file { parts.append(file) }
        try console.print("\(row.url): \(parts.joined(separator: ", "))".harmless)
    }

    private static func isDirectory(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
    }
}
