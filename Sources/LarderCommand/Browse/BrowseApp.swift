import CPlatform
import Dispatch
import Foundation
import Larder

/// The list renderer in the terminal: a loop of its own over keys, answers and the window's size.
final class BrowseApp {
    private enum Event: Sendable {
        case keys([UInt8])
        case resized
        case work(@Sendable () -> Void)
        case rows([BrowseRow])
        case complete
        case failed(any Error)
        case draw
        case ended
    }

    /// How the list was left.
    enum Ending {
        case quit
        /// By Ctrl-C.
        case interrupted
        /// The terminal cannot be used: an errno value.
        case unusable(Int32)
        /// The rows cannot be read.
        case failed(any Error)
    }

    private enum Mode {
        case list, details, search
    }

    /// Rows as they are read.
    typealias Source = AsyncThrowingStream<[BrowseRow], any Error>

    private let source: Source
    private let makeRequest: @Sendable (URL) -> ImageRequest
    private let loader: ImageLoader
    private lazy var list = BrowseList(
        loader: loader, request: { [unowned self] in rows[$0].url.map(makeRequest) },
        deliver: { [emit] work in emit.yield(.work(work)) })
    private let terminal: Int32
    private let write: ([UInt8]) -> Void
    private let events: AsyncStream<Event>
    private let emit: AsyncStream<Event>.Continuation
    private var screen: BrowseScreen
    private var mode = Mode.list
    private var rows = BrowseRows()
    /// Whether there are no more rows to come.
    private var isComplete = false
    private var top = 0
    private var selected = 0
    private var isDrawPlanned = false
    private var lastDrawn = DispatchTime(uptimeNanoseconds: 0)
    private var pictures: [ObjectIdentifier: (bitmap: Bitmap, text: [String])] = [:]
    private var pending: [UInt8] = []

    /// - Parameters:
    ///   - terminal: an open descriptor of it.
    ///   - write: puts bytes on it. A terminal that has gone ends the loop where the keys are read.
    init(
        _ source: Source, loader: ImageLoader, terminal: Int32, screen: BrowseScreen,
        write: @escaping ([UInt8]) -> Void,
        request: @escaping @Sendable (URL) -> ImageRequest
    ) {
        self.source = source
        self.loader = loader
        self.screen = screen
        self.terminal = terminal
        self.write = write
        makeRequest = request
        (events, emit) = AsyncStream.makeStream(of: Event.self)
    }

    /// Runs until the user quits. The terminal is put back whatever happens.
    func run() async -> Ending {
        let status = larder_terminal_enter(terminal)
        guard status == 0 else { return .unusable(status) }
        defer { larder_terminal_leave() }
        let resizes = DispatchSource.makeSignalSource(signal: SIGWINCH, queue: .global())
        resizes.setEventHandler { [emit] in emit.yield(.resized) }
        resizes.resume()
        defer { resizes.cancel() }
        readKeys()
        let reading = readRows()
        defer { reading.cancel() }
        measure()
        planDraw()
        for await event in events {
            switch event {
            case .keys(let bytes):
                pending += bytes
                for key in Key.parse(&pending) where !handle(key) { return key == .interrupt ? .interrupted : .quit }
            case .resized: measure()
            case .work(let work): work()
            case .rows(let more):
                rows.append(more)
                move(to: selected)
            case .complete: isComplete = true
            case .failed(let error): return .failed(error)
            case .draw:
                isDrawPlanned = false
                draw()
                continue
            case .ended: return .quit
            }
            planDraw()
        }
        return .quit
    }

    private func readRows() -> Task<Void, Never> {
        Task { [source, emit] in
            do {
                for try await more in source { emit.yield(.rows(more)) }
                emit.yield(.complete)
            } catch {
                emit.yield(.failed(error))
            }
        }
    }

    private func readKeys() {
        let thread = Thread { [terminal, emit] in
            var buffer = [UInt8](repeating: 0, count: 256)
            while true {
                let count = read(terminal, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { break }
                emit.yield(.keys(Array(buffer[..<count])))
            }
            emit.yield(.ended)
        }
        thread.name = "larder-browse-keys"
        thread.start()
    }

    private func measure() {
        var size = larder_terminal_size()
        guard larder_terminal_measure(terminal, &size) == 0, size.columns > 0, size.rows > 0 else { return }
        screen.columns = Int(size.columns)
        screen.rows = Int(size.rows)
        if size.width > 0, size.height > 0 {
            screen.cell = (max(1, Int(size.width / size.columns)), max(1, Int(size.height / size.rows)))
        }
        pictures = [:]
        move(to: selected)
    }

    /// One drawing for all that happens within a frame; the first is not kept waiting.
    private func planDraw() {
        guard !isDrawPlanned else { return }
        isDrawPlanned = true
        let next = lastDrawn + .milliseconds(16)
        guard next > .now() else {
            emit.yield(.draw)
            return
        }
        DispatchQueue.global().asyncAfter(deadline: next) { [emit] in emit.yield(.draw) }
    }

    /// False ends the loop.
    private func handle(_ key: Key) -> Bool {
        if key == .interrupt { return false }
        switch mode {
        case .search: search(key)
        case .details: mode = .list
        case .list:
            switch key {
            case .character("q"): return false
            case .up, .character("k"): move(to: selected - 1)
            case .down, .character("j"): move(to: selected + 1)
            case .pageUp: move(to: selected - screen.capacity)
            case .pageDown, .character(" "): move(to: selected + screen.capacity)
            case .home, .character("g"): move(to: 0)
            case .end, .character("G"): move(to: rows.count - 1)
            case .character("r"):
                for image in list.images.values { image.retry() }
            case .character("/"): mode = .search
            case .escape: find("")
            case .enter: if rows.count > 0 { mode = .details }
            default: break
            }
        }
        return true
    }

    private func search(_ key: Key) {
        switch key {
        case .enter: mode = .list
        case .escape:
            mode = .list
            find("")
        case .backspace: find(String(rows.query.dropLast()))
        case .character(let character): find(rows.query + String(character))
        default: break
        }
    }

    private func find(_ text: String) {
        rows.find(text)
        list.reset()
        (selected, top) = (0, 0)
        move(to: 0)
    }

    private var visible: Range<Int> { top..<min(rows.count, top + screen.capacity) }

    private func move(to row: Int) {
        selected = max(0, min(rows.count - 1, row))
        top = max(0, min(top, selected))
        if selected >= top + screen.capacity { top = selected - screen.capacity + 1 }
        list.show(visible, of: rows.count)
    }

    private func draw() {
        lastDrawn = .now()
        let position = (rows.count == 0 ? "no rows" : "\(selected + 1)/\(rows.count)") + (isComplete ? "" : "…")
        let text: String
        switch mode {
        case .details:
            text = screen.details(details(rows[selected]), status: " \(position)  any key: back")
        case .list, .search:
            let prompt =
                mode == .search
                ? "/\(rows.query)▏"
                : rows.query.isEmpty
                    ? "↑↓ move  / search  Enter details  r retry  q quit" : "/\(rows.query)  Esc: all"
            text = screen.list(visible.map(item), status: " \(position)  \(prompt)")
        }
        write(Array(text.utf8))
    }

    private func item(_ row: Int) -> BrowseScreen.Item {
        let image = list.images[row]
        let phase = image?.phase ?? .empty
        let bitmap = phase.image?.bitmap ?? image?.preview ?? image?.placeholder
        return BrowseScreen.Item(
            row: rows[row], phase: phase, progress: image?.progress, picture: bitmap.map(picture) ?? [],
            isSelected: row == selected)
    }

    private func picture(_ bitmap: Bitmap) -> [String] {
        let id = ObjectIdentifier(bitmap)
        if let made = pictures[id] { return made.text }
        if pictures.count > 200 { pictures = [:] }
        let text = screen.picture(bitmap)
        // The bitmap is held with its text: its identity must not become another's.
        pictures[id] = (bitmap, text)
        return text
    }

    private func details(_ row: BrowseRow) -> [(name: String, value: String)] {
        var facts: [(name: String, value: String)] = [("title", row.title)]
        if let url = row.url { facts.append(("url", url.absoluteString)) }
        let phase = list.images[selected]?.phase ?? .empty
        facts.append(("phase", row.problem == nil ? phase.name : "failure"))
        if let problem = row.problem { facts.append(("problem", problem)) }
        if let error = phase.error {
            facts += [("code", error.code), ("message", error.message()), ("detail", error.details.detail)]
        }
        if let image = phase.image {
            let header = image.header
            facts += [
                ("format", header.format.rawValue), ("size", "\(header.width)x\(header.height)"),
                ("orientation", "\(header.orientation.rawValue)"), ("source", image.source.rawValue),
                ("file", CacheKey(url: image.key.url, partition: image.key.partition).file),
            ]
        }
        return facts + row.facts
    }
}
