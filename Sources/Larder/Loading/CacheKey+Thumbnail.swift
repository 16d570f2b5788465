extension CacheKey {
    /// The key of a thumbnail of this original: one name for all who make and look for thumbnails.
    package func thumbnail(_ size: ThumbnailSize, _ output: ThumbnailOutput) -> CacheKey {
        variant(
            "\(size)\(size.crop ? ";crop" : "");\(output.format?.rawValue ?? "auto");\(output.quality)")
    }
}
