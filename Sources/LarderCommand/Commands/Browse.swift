import Foundation
import Larder
import LarderPrefetch
import LarderWorkers

extension Command {
    static let browse = Command(
        name: "browse", summary: "look at the images of a manifest or a cache in the terminal",
        operands: "[DIR|MANIFEST]",
        examples: [
            ("larder browse urls.txt", "a list of images, loaded as you scroll"),
            ("larder browse", "what is in the cache"),
            ("larder browse DIR", "what is in another cache directory"),
        ],
        options: [
            .value("url-col", "NAME", "the column or key with the URL", default: "url"),
            .value(
                "graphics", "NAME", "how pictures are drawn", default: "auto",
                choices: ["auto"] + TerminalGraphics.allCases.map(\.rawValue)),
        ] + LoadingOptions.table,
        details: [
            "Arrows, `j`, `k`, Page Up, Page Down, Home and End move; `/` searches, Escape shows all again; Enter "
                + "shows the details of a row; `r` tries again what has failed; `q` quits."
        ],
        run: { arguments, console in try await BrowseCommand(arguments, console).run() })
}

/// `larder browse`.
struct BrowseCommand: Sendable {
    private let arguments: Arguments
    private let console: Console

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.arguments = arguments
        self.console = console
        guard arguments.operands.count <= 1 else { throw UsageError("browse wants one manifest or directory") }
    }

    func run() async throws -> ExitStatus {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC)
        guard terminal >= 0 else { throw CommandFailure("browse needs a terminal", hint: "For scripts: larder get.") }
        defer { close(terminal) }
        let loading = try LoadingOptions(arguments)
        let screen = BrowseScreen(
            graphics: try arguments.string("graphics").flatMap { TerminalGraphics(rawValue: $0) }
                ?? TerminalGraphics(environment: console.environment), harmless: { $0.harmless })
        let place = arguments.operands.first
        let isDirectory = try place.map(Self.isDirectory) ?? true
        let loader = try LoaderSetup.loader(
            arguments, loading, console, memoryBytes: 64 << 20, directory: isDirectory ? place : nil)
        let rows = if let place, !isDirectory { try listed(place) } else { stored(loader) }
        let app = BrowseApp(
            rows, loader: loader, terminal: terminal, screen: screen,
            write: { _ = Descriptor.write($0, to: terminal) },
            request: { url in
                ImageRequest(
                    url: url, fields: loading.connection.fields, thumbnail: ThumbnailSize("160x96"),
                    cachePolicy: isDirectory ? .offlineOnly() : loading.policy)
            })
        switch await app.run() {
        case .quit: return .success
        case .interrupted: return .interrupted
        case .failed(let error): throw error
        case .unusable(let code):
            throw CommandFailure("the terminal cannot be used: \(String(cString: strerror(code)))")
        }
    }

    private static func isDirectory(_ path: String) throws -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// What a cache directory holds, the last used first.
    private func stored(_ loader: ImageLoader) -> BrowseApp.Source {
        let language = console.language
        return BrowseApp.Source { rows in
            let task = Task {
                do throws(ImageError) {
                    var offset = 0
                    while !Task.isCancelled {
                        // The first are shown at once; then few queries, since each passes over what it has given.
                        let batch = try await loader.storedImages(offset: offset, limit: offset == 0 ? 1_000 : 50_000)
                        if batch.isEmpty { break }
                        offset += batch.count
                        rows.yield(
                            batch.map { image in
                                let address = image.url.absoluteString
                                return BrowseRow(
                                    title: address, address: address,
                                    origin: .cache(bytes: image.bytes, file: image.file))
                            })
                    }
                    rows.finish()
                } catch {
                    rows.finish(
                        throwing: CommandFailure(error.message(in: language), hint: error.details.detail))
                }
            }
            rows.onTermination = { _ in task.cancel() }
        }
    }

    /// The rows of a manifest.
    private func listed(_ path: String) throws -> BrowseApp.Source {
        var options = ManifestOptions()
        options.urlColumn = try arguments.string("url-col") ?? options.urlColumn
        @Sendable func failure(_ error: ManifestError) -> CommandFailure {
            CommandFailure("\(path) cannot be read: \(error.message)")
        }
        let reader: ManifestReader
        do throws(ManifestError) { reader = try ManifestReader(path: path, options: options) } catch {
            throw failure(error)
        }
        let reading = BlockingExecutor(name: "larder-manifest", width: 1)
        return BrowseApp.Source { rows in
            rows.onTermination = { _ in reader.stop() }
            reading.detach {
                do throws(ManifestError) {
                    while true {
                        let batch = try reader.next(1_000)
                        if batch.isEmpty { break }
                        let more = batch.map { row in
                            BrowseRow(
                                title: row.id.map { "\($0)  \(row.url)" } ?? row.url, address: row.url,
                                flaw: row.problem, origin: .manifest(number: row.number, id: row.id))
                        }
                        if case .terminated = rows.yield(more) { break }
                    }
                    rows.finish()
                } catch {
                    rows.finish(throwing: failure(error))
                }
            }
        }
    }
}
