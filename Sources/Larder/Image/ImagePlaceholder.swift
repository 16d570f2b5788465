/// What to draw until a picture is there, in a few bytes: kept beside each thumbnail and written into reports.
package struct ImagePlaceholder: Sendable, Hashable {
    package let thumbHash: ThumbHash
    package let color: ImageColor

    package init(thumbHash: ThumbHash, color: ImageColor) {
        self.thumbHash = thumbHash
        self.color = color
    }

    /// Of a picture, best of its smallest thumbnail: every pixel is read once.
    package init(_ bitmap: Bitmap) {
        thumbHash = ThumbHash(bitmap)
        color = bitmap.dominantColor
    }
}
