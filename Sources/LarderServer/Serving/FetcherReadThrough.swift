import Larder

/// Reads through in this process: one HTTP cache over the same directory.
package struct FetcherReadThrough: ReadThrough {
    private let fetcher: CachingFetcher
    private let request: FetchRequest

    /// - Parameters:
    ///   - fetcher: over the directory that is served.
    ///   - limits: of what may be stored as an image.
    ///   - configure: what else each request carries.
    package init(
        fetcher: CachingFetcher, limits: ImageLimits = .init(), configure: (inout FetchRequest) -> Void = { _ in }
    ) throws(ImageError) {
        self.fetcher = fetcher
        // A pattern for all requests; its URL is replaced each time.
        var request = FetchRequest(
            url: try NormalizedURL("http://localhost/"), content: .image(limits),
            priority: .high)
        configure(&request)
        self.request = request
    }

    package func fetch(_ url: NormalizedURL) async throws(Problem) -> FetchedImage {
        var request = request
        request.url = url
        let result: FetchResult
        do throws(ImageError) { result = try await fetcher.fetch(request) } catch { throw Problem(error) }
        switch result.payload {
        case .entry(let entry): return .entry(entry)
        case .memory(let bytes, let metadata): return .memory(bytes, metadata)
        }
    }
}
