import CImageCodecs

/// Scales a picture whose rows come one after the other, by a separable filter: each row is scaled across when it
/// comes, and rows are combined down as soon as an output row has all it needs. It never holds the whole source.
final class Resampler {
    let output: Raster
    private let across: FilterTable
    private let down: FilterTable
    private let channels: Int
    private let hasAlpha: Bool
    /// Scaled rows that output rows still need, as a ring.
    private let ring: UnsafeMutablePointer<Float>
    private let ringRows: Int
    private let rowFloats: Int
    /// Those of them that one output row needs.
    private let rows: UnsafeMutablePointer<UnsafePointer<Float>?>
    private var received = 0
    private var produced = 0

    /// - Parameters:
    ///   - width: and `height`, of the source.
    ///   - extent: how much of the source the picture covers.
    ///   - hasAlpha: rows come premultiplied; the output is straight again.
    ///   - plan: in the source's own orientation.
    init(
        width: Int, height: Int, extent: (width: Double, height: Double), channels: Int, hasAlpha: Bool,
        plan: ThumbnailSize.Plan
    ) {
        across = FilterTable(
            source: width, extent: extent.width, scaled: plan.scaled.width,
            window: plan.left..<plan.left + plan.window.width)
        down = FilterTable(
            source: height, extent: extent.height, scaled: plan.scaled.height,
            window: plan.top..<plan.top + plan.window.height)
        output = Raster(width: plan.window.width, height: plan.window.height, channels: channels)
        self.channels = channels
        self.hasAlpha = hasAlpha
        rowFloats = (plan.window.width * channels + 15) & ~15
        ringRows = down.taps + 1
        ring = Self.floats(rowFloats * ringRows)
        rows = .allocate(capacity: down.taps)
        rows.initialize(repeating: nil, count: down.taps)
    }

    deinit {
        UnsafeMutableRawPointer(ring).deallocate()
        rows.deallocate()
    }

    /// Aligned for vectors, and all 0.
    static func floats(_ count: Int) -> UnsafeMutablePointer<Float> {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: count * 4, alignment: 64)
        let floats = memory.bindMemory(to: Float.self, capacity: count)
        floats.initialize(repeating: 0, count: count)
        return floats
    }

    /// Takes the next source row; `line` is followed by room for one filter's width.
    func push(_ line: UnsafePointer<Float>) {
        let row = received
        received += 1
        guard produced < output.height, row >= Int(down.starts[produced]) else { return }
        let target = ring + (row % ringRows) * rowFloats
        across.withFilter { larder_scale_across(line, UInt32(channels), $0, target) }
        while produced < output.height, Int(down.starts[produced]) + down.counts[produced] <= received {
            combine(produced)
            produced += 1
        }
    }

    /// Adds up the rows of one output row and writes it.
    private func combine(_ y: Int) {
        let first = Int(down.starts[y])
        let count = down.counts[y]
        for tap in 0..<count { rows[tap] = UnsafePointer(ring + ((first + tap) % ringRows) * rowFloats) }
        down.weights.withUnsafeBufferPointer { weights in
            guard let base = weights.baseAddress else { return }
            larder_combine(
                rows, base + y * down.taps, UInt32(count), output.stride, hasAlpha, output.pixels + y * output.stride)
        }
    }
}
