import Larder

/// The images of a list of any length, seen through a window: rows in view load first, rows that will be seen come
/// next, and what has gone by is given up. This is all that a list renderer needs.
final class BrowseList {
    private let loader: ImageLoader
    private let prefetcher: Prefetcher
    private let deliver: RemoteImage.Delivery
    /// What a row shows; nil for a row without an image.
    private let request: (Int) -> ImageRequest?
    private var window = ListWindow()
    /// The rows in view: bind to their `phase`.
    private(set) var images: [Int: RemoteImage] = [:]

    init(loader: ImageLoader, request: @escaping (Int) -> ImageRequest?, deliver: @escaping RemoteImage.Delivery) {
        self.loader = loader
        self.request = request
        self.deliver = deliver
        prefetcher = Prefetcher(loader: loader)
    }

    /// To be called whenever other rows have come into view, or the list has become longer.
    func show(_ visible: Range<Int>, of count: Int) {
        let change = window.update(visible: visible, count: count)
        prefetcher.update(change, request)
        images = images.filter { visible.contains($0.key) }
        for row in change.load {
            guard var request = request(row) else { continue }
            request.priority = .high
            let image = RemoteImage(loader: loader, deliver: deliver)
            image.load(request)
            images[row] = image
        }
    }

    /// To be called when the rows have become others.
    func reset() {
        prefetcher.stopAll()
        (window, images) = (ListWindow(), [:])
    }
}
