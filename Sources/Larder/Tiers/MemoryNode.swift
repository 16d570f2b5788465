import Synchronization

/// One picture in the memory tier's index: what it is, and a weak reference to its pixels, which are held by
/// NSCache and by whoever shows them.
final class MemoryNode: PolicyNode, @unchecked Sendable {
    // Sendable: as PolicyNode; `isDiscarded` is touched only under the ledger's lock, the rest is atomic
    // or never changes.

    let facts: DecodedImage.Facts
    /// Weak, because NSCache may drop what it likes where the system says so, and because a picture that is still
    /// shown after its eviction can be found again.
    weak let bitmap: Bitmap?
    /// When it may no longer be used, in monotonic nanoseconds; `.max` for never.
    let expiry: UInt64
    /// Whether NSCache holds the bitmap. Written by the ledger only; a reader that sees the past asks the ledger.
    let isHeld = Atomic(false)
    /// No longer in the index: must not be admitted again.
    var isDiscarded = false

    init(_ image: DecodedImage, expiry: UInt64) {
        facts = image.facts
        bitmap = image.bitmap
        self.expiry = expiry
        super.init(fingerprint: image.facts.key.hash.low, cost: image.bitmap.byteCount)
    }
}
