/// A step that makes one bitmap of another, such as a crop or rounded corners.
///
/// The identifier is part of the cache key of what comes out: two processors with one identifier must give the
/// same picture for the same input, on every run. Called on a decoding thread; must be safe from any.
public protocol ImageProcessing: Sendable {
    /// Stable and unique: reverse-DNS with the parameters, such as `org.example.sepia?strength=0.8`.
    var identifier: String { get }

    /// The processed picture.
    func process(_ bitmap: Bitmap) throws(ImageError) -> Bitmap
}
