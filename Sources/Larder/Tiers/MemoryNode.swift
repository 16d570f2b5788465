import Synchronization

/// One picture in the memory tier's index: what it is, and weak references to it. NSCache holds it, and so does
/// whoever shows it.
///
/// Weak, because NSCache may drop what it likes where the system says so, and because a picture that is still shown
/// after its eviction can be found again.
final class MemoryNode: PolicyNode, @unchecked Sendable {
    // Sendable: as PolicyNode; `isDiscarded` and what `age` links are touched only under the ledger's lock, the rest is
    // atomic or never changes once the node is made.

    /// Stands for the node in a second queue, since a node is in one at a time.
    final class Age: PolicyNode, @unchecked Sendable {
        // Sendable: as PolicyNode.
        unowned(unsafe) let node: MemoryNode
        init(_ node: MemoryNode) {
            self.node = node
            super.init(fingerprint: node.fingerprint, cost: node.cost)
        }
    }

    struct Weak {
        weak var object: DecodedImage?
    }

    let facts: DecodedImage.Facts
    /// Beside the node and not in it, so that a reader needs to hold nothing but the place: counting references to the
    /// node would be one more cache line for which readers fight.
    private let place: UnsafeMutablePointer<Weak>
    /// For who keeps the pixels alone. Not read while `image` is there: an object with weak references is retained
    /// at twice the cost.
    weak let bitmap: Bitmap?
    /// When it may no longer be used, in monotonic nanoseconds; `.max` for never.
    let expiry: UInt64

    /// Whether NSCache holds it. Written by the ledger only; a reader that sees the past asks the ledger.
    let isHeld = Atomic(false)
    /// Its place in the order of expiry; nil for what never expires.
    private(set) var age: Age?
    /// No longer in the index: must not be admitted again.
    var isDiscarded = false

    init(_ image: DecodedImage, expiry: UInt64) {
        facts = image.facts
        place = .allocate(capacity: 1)
        place.initialize(to: Weak(object: image))
        bitmap = image.bitmap
        self.expiry = expiry
        super.init(fingerprint: image.facts.key.hash.low, cost: image.bitmap.byteCount)
        if expiry < .max { age = Age(self) }
    }

    deinit {
        place.deinitialize(count: 1)
        place.deallocate()
    }

    var image: DecodedImage? { place.pointee.object }

    /// Whether nobody has its pixels any more.
    var isDead: Bool { bitmap == nil }

    /// Notes a use and tells where the image is; nil where it may not be used at once.
    @inline(__always)
    func use(now: UInt64) -> UnsafeMutablePointer<Weak>? {
        guard expiry > now, isHeld.load(ordering: .relaxed) else { return nil }
        touch()
        return place
    }
}
