/// A format that Larder knows by its bytes; never by an extension or a Content-Type.
///
/// Raw values are the names used in reports, the API and the entry file.
public enum ImageFormat: String, Sendable, Hashable, Codable, CaseIterable {
    case jpeg, png, gif, webp, avif, heic, jxl, bmp, tiff, ico, svg
}
