import Larder

/// What a request asks for, decoded and checked in form. Whether the client may have it is `AccessControl`'s part.
package enum Route: Sendable, Hashable {
    case gallery
    case login
    case logout
    /// An image by its URL, as it is or transformed.
    case image(url: String, Transformation, Authority)
    /// An entry's image by its name, as it is or transformed.
    case file(CacheKey.Hash, Transformation)
    case entries(EntryListQuery)
    case entry(CacheKey.Hash)
    case removeEntry(CacheKey.Hash)
    case stats
    case health
    case metrics

    /// On whose word an image is asked for.
    package enum Authority: Sendable, Hashable {
        /// The client's own: `/image`.
        case request
        /// Nobody's: `/unsafe/`.
        case unsafe
        /// The holder of the key: the path is signed.
        case signature
    }

    /// The name in metrics and the access log.
    package var name: Name {
        switch self {
        case .gallery: .gallery
        case .login, .logout: .login
        case .image(_, let transformation, _): transformation.isIdentity ? .image : .thumbnail
        case .file(_, let transformation): transformation.isIdentity ? .file : .thumbnail
        case .entries, .entry, .removeEntry: .entries
        case .stats: .stats
        case .health: .health
        case .metrics: .metrics
        }
    }

    /// In the order of metrics.
    package enum Name: String, Sendable, Hashable, CaseIterable {
        case entries, file, gallery, health, image, login, metrics, none, stats, thumbnail
    }
}
