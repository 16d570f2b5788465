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
        case draw
        case ended
    }

    /// How the list was left.
    enum Ending: Equatable {
        case quit
        /// By Ctrl-C.
        case interrupted
        /// The terminal cannot be used: an errno value.
        case unusable(Int32)
    }

    private enum Mode {
        case list, details, search
    }

    private let rows: [BrowseRow]
    private let list: BrowseList
    private let terminal: Int32
    private let events: AsyncStream<Event>
    private let emit: AsyncStream<Event>.Continuation
    private var screen: BrowseScreen
    private var mode = Mode.list
    private var query = ""
    /// The rows that the query leaves, as indices of `rows`.
    private var found: [Int]
    private var top = 0
    private var selected = 0
    private var isDrawPlanned = false
    private var pictures: [ObjectIdentifier: (bitmap: Bitmap, text: [String])] = [:]
    private var pending: [UInt8] = []

    init(rows: [BrowseRow], loader: ImageLoader, terminal: Int32, screen: BrowseScreen) {
        self.rows = rows
        self.screen = screen
        self.terminal = terminal
        found = Array(rows.indices)
        (events, emit) = AsyncStream.makeStream(of: Event.self)
        list = BrowseList(loader: loader, deliver: { [emit] work in emit.yield(.work(work)) })
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
        measure()
        find("")
        for await event in events {
            switch event {
            case .keys(let bytes):
                pending += bytes
                for key in Key.parse(&pending) where !handle(key) { return key == .interrupt ? .interrupted : .quit }
            case .resized: measure()
            case .work(let work): work()
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

    /// One drawing for all that happens within a frame.
    private func planDraw() {
        guard !isDrawPlanned else { return }
        isDrawPlanned = true
        DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(16)) { [emit] in emit.yield(.draw) }
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
            case .end, .character("G"): move(to: found.count - 1)
            case .character("r"):
                for image in list.images.values { image.retry() }
            case .character("/"): mode = .search
            case .escape: find("")
            case .enter: if !found.isEmpty { mode = .details }
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
        case .backspace: find(String(query.dropLast()))
        case .character(let character): find(query + String(character))
        default: break
        }
    }

    private func find(_ text: String) {
        query = text
        let wanted = Array(text.lowercased().utf8)
        found = wanted.isEmpty ? Array(rows.indices) : rows.indices.filter { rows[$0].contains(wanted) }
        list.requests = found.map { rows[$0].request }
        selected = 0
        top = 0
        move(to: 0)
    }

    private var visible: Range<Int> { top..<min(found.count, top + screen.capacity) }

    private func move(to row: Int) {
        selected = max(0, min(found.count - 1, row))
        top = max(0, min(top, selected))
        if selected >= top + screen.capacity { top = selected - screen.capacity + 1 }
        list.show(visible)
    }

    private func draw() {
        let position = found.isEmpty ? "no rows" : "\(selected + 1)/\(found.count)"
        let text: String
        switch mode {
        case .details:
            text = screen.details(details(found[selected]), status: " \(position)  any key: back")
        case .list, .search:
            let prompt =
                mode == .search
                ? "/\(query)▏"
                : query.isEmpty ? "↑↓ move  / search  Enter details  r retry  q quit" : "/\(query)  Esc: all"
            text = screen.list(visible.map(item), status: " \(position)  \(prompt)")
        }
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { write(terminal, $0.baseAddress! + sent, bytes.count - sent) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return }
            sent += count
        }
    }

    private func item(_ row: Int) -> BrowseScreen.Item {
        let image = list.images[row]
        let phase = image?.phase ?? .empty
        let bitmap = phase.image?.bitmap ?? image?.preview ?? image?.placeholder
        return BrowseScreen.Item(
            row: rows[found[row]], phase: phase, progress: image?.progress, picture: bitmap.map(picture) ?? [],
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

    private func details(_ index: Int) -> [(name: String, value: String)] {
        let row = rows[index]
        var facts: [(name: String, value: String)] = [("title", row.title)]
        if let url = row.request?.url { facts.append(("url", url.absoluteString)) }
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
