import Foundation

/// What two claims must have in common to share one load: the picture, and all that decides how it is had and
/// whether it will do.
package struct LoadID: Sendable, Hashable {
    let key: CacheKey
    private let url: URL
    private let policy: CachePolicy
    private let fields: HTTPFields
    private let sha256: String?
    private let filter: ImageFilter?
    private let deadlines: Deadlines?

    init(_ request: ImageRequest, _ key: CacheKey) {
        self.key = key
        url = request.url
        policy = request.cachePolicy
        fields = request.fields
        sha256 = request.sha256
        filter = request.filter
        deadlines = request.deadlines
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(key) }
}
