import CXXHash

/// XXH3, 64 bits, fed piece by piece. Not for use from two threads at once.
final class PayloadChecksum {
    private var state = XXH3_createState()
    private var fixed: UInt64?

    init() { reset() }

    deinit { XXH3_freeState(state) }

    func reset() {
        fixed = nil
        _ = XXH3_64bits_reset(state)
    }

    func update(_ bytes: UnsafeRawBufferPointer) { larder_xxh3_update(state, bytes.baseAddress, bytes.count) }

    /// Sets the value of bytes that are copied unread.
    func fix(_ value: UInt64) { fixed = value }

    /// Goes on from where `other` stands.
    func adopt(_ other: PayloadChecksum) { XXH3_copyState(state, other.state) }

    var value: UInt64 { fixed ?? XXH3_64bits_digest(state) }
}
