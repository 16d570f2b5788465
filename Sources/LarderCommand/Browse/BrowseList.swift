import Larder

/// The images of a list of any length, seen through a window: rows in view load first, rows that will be seen come
/// next, and what has gone by is given up. This is all that a list renderer needs.
final class BrowseList {
    private let loader: ImageLoader
    private let prefetcher: Prefetcher
    private let deliver: RemoteImage.Delivery
    private var window = ListWindow()
    /// The rows in view: bind to their `phase`.
    private(set) var images: [Int: RemoteImage] = [:]
    /// What each row shows; nil for a row without an image.
    var requests: [ImageRequest?] = [] {
        didSet {
            prefetcher.stopAll()
            (window, images) = (ListWindow(), [:])
        }
    }

    init(loader: ImageLoader, deliver: @escaping RemoteImage.Delivery) {
        self.loader = loader
        self.deliver = deliver
        prefetcher = Prefetcher(loader: loader)
    }

    /// To be called whenever other rows have come into view.
    func show(_ visible: Range<Int>) {
        let change = window.update(visible: visible, count: requests.count)
        prefetcher.update(change) { requests[$0] }
        images = images.filter { visible.contains($0.key) }
        for row in change.load {
            guard var request = requests[row] else { continue }
            request.priority = .high
            let image = RemoteImage(loader: loader, deliver: deliver)
            image.load(request)
            images[row] = image
        }
    }
}
