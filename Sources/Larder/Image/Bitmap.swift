/// Decoded pixels: RGBA, 8 bits a channel, straight alpha, sRGB unless a profile says otherwise, top row first.
///
/// The pixels never change once the bitmap is made, so it may be shared between threads without copying.
public final class Bitmap: @unchecked Sendable {
    // Sendable: `base` is written only by `init`'s closure, before anybody else can hold the bitmap.
    private let base: UnsafeMutableRawPointer

    /// Pixels.
    public let width: Int
    /// Pixels.
    public let height: Int
    /// Bytes from one row to the next, at least 4 × `width`.
    public let stride: Int
    /// Whether any pixel may be other than opaque.
    public let hasAlpha: Bool
    /// The image's ICC profile for RGB, or empty.
    public let icc: [UInt8]

    /// What the bitmap costs in memory, in bytes.
    public var byteCount: Int { stride * height + icc.count }

    /// Allocates `4 × width × height` bytes and lets `fill` write them.
    ///
    /// - Throws: ``ImageError/tooLarge(_:)`` where the size is not positive or overflows, and what `fill` throws.
    public init(
        width: Int, height: Int, hasAlpha: Bool, icc: [UInt8] = [],
        fill: (UnsafeMutableRawBufferPointer, _ stride: Int) throws(ImageError) -> Void
    ) throws(ImageError) {
        let (stride, overflow) = width.multipliedReportingOverflow(by: 4)
        let (bytes, over) = stride.multipliedReportingOverflow(by: height)
        guard width > 0, height > 0, !overflow, !over else {
            throw .tooLarge(.init("a bitmap of \(width)x\(height) cannot be made"))
        }
        self.width = width
        self.height = height
        self.stride = stride
        self.hasAlpha = hasAlpha
        self.icc = icc
        base = .allocate(byteCount: bytes, alignment: 64)
        // Every property is set: where `fill` throws, `deinit` frees the pixels.
        try fill(UnsafeMutableRawBufferPointer(start: base, count: bytes), stride)
    }

    deinit { base.deallocate() }

    /// The pixels, row by row, valid during the call.
    public func withPixels<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: base, count: stride * height))
    }
}
