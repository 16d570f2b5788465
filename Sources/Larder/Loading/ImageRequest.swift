import Foundation

/// What is asked of an ``ImageLoader``: which image, at which size, how soon, and from where.
///
/// A value; two requests for the same picture are equal whatever their priority.
public struct ImageRequest: Sendable {
    /// An http or https URL.
    public var url: URL
    /// Header fields to send beside the engine's own. With `Authorization` or `Cookie` the image is stored
    /// privately, under a key of its own.
    public var fields: HTTPFields
    /// The size to make the picture at; nil (the default) for the original's own.
    public var thumbnail: ThumbnailSize?
    /// Pixels per point of the screen: a thumbnail's size is multiplied by it. 1 by default.
    public var scale: Double
    /// What is done to the bitmap after it was sized, in order. Empty by default.
    public var processors: [any ImageProcessing]
    /// `.normal` by default. May be changed later through ``ImageTask/priority``.
    public var priority: ImagePriority
    /// `.http` by default.
    public var cachePolicy: CachePolicy
    /// Stands for the URL in the cache key: for signed URLs, whose signature changes while the picture does not.
    /// nil by default: the normalised URL, as the loader's ``CacheKey/Normalizer`` gives it.
    public var customKey: String?
    /// The SHA-256 that the image's bytes must have, as 64 hex digits, or nil.
    public var sha256: String?
    /// What the image's header must satisfy, or nil for anything.
    public var filter: ImageFilter?
    /// How long the parts of the load may take; nil, the default: as the loader's configuration says.
    public var deadlines: Deadlines?
    /// What to show until the picture is there: a ThumbHash from a report or from your API, or nil. It becomes
    /// ``LoadProgress/Snapshot/placeholder``.
    public var placeholder: ThumbHash?

    /// A request; what is not given has its default.
    public init(
        url: URL, fields: HTTPFields = .init(), thumbnail: ThumbnailSize? = nil, scale: Double = 1,
        processors: [any ImageProcessing] = [], priority: ImagePriority = .normal, cachePolicy: CachePolicy = .http,
        customKey: String? = nil, sha256: String? = nil, filter: ImageFilter? = nil, deadlines: Deadlines? = nil,
        placeholder: ThumbHash? = nil
    ) {
        self.url = url
        self.fields = fields
        self.thumbnail = thumbnail
        self.scale = scale
        self.processors = processors
        self.priority = priority
        self.cachePolicy = cachePolicy
        self.customKey = customKey
        self.sha256 = sha256
        self.filter = filter
        self.deadlines = deadlines
        self.placeholder = placeholder
    }
}
