/// A format that Larder knows by its bytes; never by an extension or a Content-Type.
///
/// Raw values are the names used in reports, the API and the entry file.
public enum ImageFormat: String, Sendable, Hashable, Codable, CaseIterable {
    /// Known by their first bytes. JPEG and PNG are decoded; the others are recognised, measured, cached and served.
    case jpeg, png, gif, webp, avif, heic, jxl, bmp, tiff, ico, svg
}

extension ImageFormat {
    /// The registered media type (RFC 9110, section 8.3.1).
    public var contentType: String {
        switch self {
        case .jpeg: "image/jpeg"
        case .png: "image/png"
        case .gif: "image/gif"
        case .webp: "image/webp"
        case .avif: "image/avif"
        case .heic: "image/heic"
        case .jxl: "image/jxl"
        case .bmp: "image/bmp"
        case .tiff: "image/tiff"
        case .ico: "image/vnd.microsoft.icon"
        case .svg: "image/svg+xml"
        }
    }

    /// The usual extension of a file name, without the dot.
    public var fileExtension: String {
        switch self {
        case .jpeg: "jpg"
        case .tiff: "tif"
        default: rawValue
        }
    }

    /// The format that a Content-Type names, parameters and case aside, or nil where it names none of ours.
    ///
    /// For comparing with what the bytes say; it never decides.
    public init?(contentType: String) {
        // Most say it just so.
        if let known = Self.allCases.first(where: { $0.contentType == contentType }) {
            self = known
            return
        }
        let name = contentType.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
        switch name {
        case "image/jpeg", "image/jpg", "image/pjpeg": self = .jpeg
        case "image/png", "image/x-png", "image/apng", "image/vnd.mozilla.apng": self = .png
        case "image/gif": self = .gif
        case "image/webp": self = .webp
        case "image/avif", "image/avif-sequence": self = .avif
        case "image/heic", "image/heif", "image/heic-sequence", "image/heif-sequence": self = .heic
        case "image/jxl": self = .jxl
        case "image/bmp", "image/x-ms-bmp", "image/x-bmp": self = .bmp
        case "image/tiff", "image/tiff-fx": self = .tiff
        case "image/vnd.microsoft.icon", "image/x-icon", "image/ico": self = .ico
        case "image/svg+xml", "image/svg": self = .svg
        default: return nil
        }
    }

    /// The format that begins with `prefix`, or nil where it is none of ours or too short to tell.
    ///
    /// 64 bytes tell every format but SVG, which may begin with comments.
    public static func detect(_ prefix: some Collection<UInt8>) -> ImageFormat? {
        let bytes = Array(prefix.prefix(FormatSniffer.longest))
        return bytes.withUnsafeBytes { raw in
            if case .format(let format) = FormatSniffer.sniff(raw) { format } else { nil }
        }
    }
}
