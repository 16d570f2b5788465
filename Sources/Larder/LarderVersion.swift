/// Which Larder this is.
public enum LarderVersion {
    /// Semantic versioning.
    public static let string = "0.1.0"
    /// What is sent as `User-Agent` unless told otherwise: name, version and where the project lives.
    public static let userAgent = "larder/\(string) (+https://larder.example)"
}
