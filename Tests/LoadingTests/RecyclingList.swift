import Larder

/// A list as its users write one: few cells that are reused again and again, a window, and a prefetcher.
final class RecyclingList {
    private let requests: [ImageRequest]
    private let prefetcher: Prefetcher
    private let makeCell: () -> RemoteImage
    private(set) var window = ListWindow()
    /// The cells of the rows in view.
    private(set) var cells: [Int: RemoteImage] = [:]
    private var spare: [RemoteImage] = []

    init(_ requests: [ImageRequest], loader: ImageLoader, deliver: @escaping RemoteImage.Delivery) {
        self.requests = requests
        prefetcher = Prefetcher(loader: loader)
        makeCell = { RemoteImage(loader: loader, deliver: deliver) }
    }

    func show(_ visible: Range<Int>, velocity: Double) {
        let change = window.update(visible: visible, count: requests.count, velocity: velocity)
        prefetcher.update(change) { requests[$0] }
        for (row, cell) in cells where !window.visible.contains(row) {
            cell.cancel()
            cells[row] = nil
            spare.append(cell)
        }
        for row in change.load {
            let cell = spare.popLast() ?? makeCell()
            var request = requests[row]
            request.priority = .high
            cell.load(request)
            cells[row] = cell
        }
    }

    /// Gives everything up and returns when it has ended.
    func close() async {
        for cell in cells.values { cell.cancel() }
        (cells, spare) = ([:], [])
        prefetcher.stopAll()
        await prefetcher.finish()
    }
}
