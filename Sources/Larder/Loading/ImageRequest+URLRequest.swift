import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension ImageRequest {
    /// An image request from a `URLRequest`: its URL, header fields, cache policy and time limit.
    ///
    /// | `URLRequest.cachePolicy` | ``cachePolicy`` |
    /// | --- | --- |
    /// | `.useProtocolCachePolicy` | `.http` |
    /// | `.reloadIgnoringLocalCacheData`, `.reloadIgnoringLocalAndRemoteCacheData` | `.reload` |
    /// | `.reloadRevalidatingCacheData` | `.revalidate` |
    /// | `.returnCacheDataElseLoad` | `.immutable` |
    /// | `.returnCacheDataDontLoad` | `.offlineOnly()` |
    ///
    /// `timeoutInterval` becomes the total of ``deadlines``; 60 s, URLRequest's own default, leaves the loader's. What
    /// else a `URLRequest` can say (cookies, service type, cellular access) has no meaning here.
    ///
    /// - Throws: ``ImageError/invalidURL(_:)`` where it has no URL, is not a GET, or has a body.
    public init(
        _ request: URLRequest, thumbnail: ThumbnailSize? = nil, scale: Double = 1,
        processors: [any ImageProcessing] = [], priority: ImagePriority = .normal
    ) throws(ImageError) {
        guard let url = request.url else { throw .invalidURL(.init("the URLRequest has no URL")) }
        let method = request.httpMethod ?? "GET"
        guard method == "GET", request.httpBody == nil, request.httpBodyStream == nil else {
            throw .invalidURL(
                .init("images are fetched by GET without a body, not by \(method)", url: url.withoutUserInfo))
        }
        // A dictionary has no order: sorted, so that equal requests stay equal.
        let fields = (request.allHTTPHeaderFields ?? [:]).sorted { $0.key < $1.key }
        self.init(
            url: url, fields: HTTPFields(fields.map { HTTPFields.Field($0.key, $0.value) }), thumbnail: thumbnail,
            scale: scale, processors: processors, priority: priority, cachePolicy: CachePolicy(request.cachePolicy))
        let seconds = request.timeoutInterval
        if seconds != 60, seconds > 0 {
            var deadlines = Deadlines(total: seconds)
            deadlines.connect = min(deadlines.connect, seconds)
            deadlines.idle = min(deadlines.idle, seconds)
            self.deadlines = deadlines
        }
    }
}

extension CachePolicy {
    fileprivate init(_ policy: URLRequest.CachePolicy) {
        switch policy {
        case .reloadIgnoringLocalCacheData, .reloadIgnoringLocalAndRemoteCacheData: self = .reload
        case .reloadRevalidatingCacheData: self = .revalidate
        case .returnCacheDataElseLoad: self = .immutable
        case .returnCacheDataDontLoad: self = .offlineOnly()
        default: self = .http
        }
    }
}
