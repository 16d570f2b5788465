/// What an image may cost. Checked on the header, before anything is allocated for pixels.
public struct ImageLimits: Sendable, Hashable {
    /// Width × height of one frame. 100 million by default.
    public var maxPixels: Int
    /// Frames of an animation. 10,000 by default.
    public var maxFrames: Int
    /// Bytes before the header is complete, and of all metadata held (EXIF, ICC). 16 MiB by default.
    public var maxMetadataBytes: Int
    /// Scans of a progressive JPEG. 200 by default.
    public var maxScans: Int
    /// Bytes that one decode may hold at once, libraries' buffers included. 768 MiB by default.
    public var maxDecodeBytes: Int

    /// What is not given has its default.
    public init(
        maxPixels: Int = 100_000_000, maxFrames: Int = 10_000, maxMetadataBytes: Int = 16 << 20,
        maxScans: Int = 200, maxDecodeBytes: Int = 768 << 20
    ) {
        self.maxPixels = maxPixels
        self.maxFrames = maxFrames
        self.maxMetadataBytes = maxMetadataBytes
        self.maxScans = maxScans
        self.maxDecodeBytes = maxDecodeBytes
    }
}
