import Foundation
import Larder
import LarderPrefetch

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
                ?? TerminalGraphics(environment: console.environment))
        let place = arguments.operands.first
        let isDirectory = try place.map(Self.isDirectory) ?? true
        let loader = try LoaderSetup.loader(
            arguments, loading, console, memoryBytes: 64 << 20, directory: isDirectory ? place : nil)
        let rows =
            if let place, !isDirectory { try listed(place, loading) } else { try await stored(loader, loading) }
        switch await BrowseApp(rows: rows, loader: loader, terminal: terminal, screen: screen).run() {
        case .quit: return .success
        case .interrupted: return .interrupted
        case .unusable(let code):
            throw CommandFailure("the terminal cannot be used: \(String(cString: strerror(code)))")
        }
    }

    private static func isDirectory(_ path: String) throws -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// What a cache directory holds, the last used first.
    private func stored(_ loader: ImageLoader, _ loading: LoadingOptions) async throws -> [BrowseRow] {
        var rows: [BrowseRow] = []
        do throws(ImageError) {
            while true {
                let batch = try await loader.storedImages(offset: rows.count, limit: 10_000)
                if batch.isEmpty { return rows }
                for image in batch {
                    var request = request(image.url, loading)
                    request.cachePolicy = .offlineOnly()
                    rows.append(
                        BrowseRow(
                            title: image.url.absoluteString, request: request,
                            facts: [("bytes", "\(image.bytes)"), ("entry", image.file)]))
                }
            }
        } catch {
            throw CommandFailure(error.message(in: console.language), hint: error.details.detail)
        }
    }

    /// The rows of a manifest.
    private func listed(_ path: String, _ loading: LoadingOptions) throws -> [BrowseRow] {
        var options = ManifestOptions()
        options.urlColumn = try arguments.string("url-col") ?? options.urlColumn
        var rows: [BrowseRow] = []
        do throws(ManifestError) {
            let reader = try ManifestReader(path: path, options: options)
            while true {
                let batch = try reader.next(1000)
                if batch.isEmpty { return rows }
                for row in batch {
                    let url = row.problem == nil ? URL(string: row.url) : nil
                    rows.append(
                        BrowseRow(
                            title: row.id.map { "\($0)  \(row.url)" } ?? row.url,
                            request: url.map { request($0, loading) },
                            problem: row.problem ?? (url == nil ? "this is no URL" : nil),
                            facts: [("row", "\(row.number)")] + (row.id.map { [("id", $0)] } ?? [])))
                }
            }
        } catch {
            throw CommandFailure("\(path) cannot be read: \(error.message)")
        }
    }

    private func request(_ url: URL, _ loading: LoadingOptions) -> ImageRequest {
        ImageRequest(
            url: url, fields: loading.connection.fields, thumbnail: ThumbnailSize("160x96"),
            cachePolicy: loading.policy)
    }
}
