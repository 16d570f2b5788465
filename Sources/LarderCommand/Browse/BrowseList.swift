import Larder

/// The images of a list of any length, seen through a window: rows in view load first, rows that will be seen come
/// next, and what has gone by is given up. This is all that a list renderer needs.
final class BrowseList {
    private let loader: ImageLoader
    private let deliver: RemoteImage.Delivery
    private var window = ListWindow()
    /// The rows that are in view or were lately.
    private var images: [Int: RemoteImage] = [:]
    /// The rows that will be.
    private var ahead: [Int: ImageTask] = [:]
    var requests: [ImageRequest?] = [] {
        didSet {
            for row in window.reset() { forget(row) }
        }
    }

    init(loader: ImageLoader, deliver: @escaping RemoteImage.Delivery) {
        self.loader = loader
        self.deliver = deliver
    }

    /// The model of a row in view: bind to its `phase`.
    subscript(row: Int) -> RemoteImage? { images[row] }

    /// To be called whenever other rows have come into view.
    func show(_ visible: Range<Int>) {
        let change = window.update(visible: visible, count: requests.count)
        for row in change.cancel { forget(row) }
        for row in change.load {
            guard var request = requests[row] else { continue }
            request.priority = .high
            let image = images[row] ?? RemoteImage(loader: loader, deliver: deliver)
            images[row] = image
            image.load(request)
            image.priority = .high
            ahead[row] = nil
        }
        for row in change.lower { images[row]?.priority = .low }
        for row in change.prefetch {
            guard var request = requests[row] else { continue }
            request.priority = .low
            ahead[row] = loader.task(for: request)
        }
    }

    private func forget(_ row: Int) {
        images[row] = nil
        ahead[row] = nil
    }
}
