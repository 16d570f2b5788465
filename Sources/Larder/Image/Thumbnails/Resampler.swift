import CImageCodecs

/// Scales a picture whose rows come one after the other, by a separable filter: rows are scaled across when they come,
/// and added to the output rows that need them. It never holds the source, nor more than a few rows of the output's
/// width.
final class Resampler {
    let output: Raster
    private let across: FilterTable
    private let down: FilterTable
    private let hasAlpha: Bool
    private let memory: Memory
    private var received: UInt32 = 0
    private var produced: UInt32 = 0
    /// Held between rows, beside the output.
    var heldBytes: Int { memory.bytes }

    /// What is held between rows.
    private struct Memory {
        /// Output rows that are begun, added up as far as they have come. Else scaled rows that are still needed.
        let isSums: Bool
        let rows: Int
        let bytes: Int
        let floats: UnsafeMutableRawPointer

        /// The fewer of the two: where the picture shrinks output rows, where it grows scaled ones.
        init(_ down: FilterTable, rowFloats: Int) {
            let (sums, ring) = (down.open, down.taps + 15)
            isSums = sums <= ring
            rows = min(sums, ring)
            bytes = rows * rowFloats * 4
            floats = .allocate(byteCount: bytes, alignment: 64)
        }
    }

    /// - Parameters:
    ///   - width: and `height`, of the source.
    ///   - extent: how much of the source the picture covers.
    ///   - hasAlpha: colours are weighted by it; else a fourth channel is not looked at, and full.
    ///   - plan: in the source's own orientation.
    ///   - budget: bytes that may be held, here without what this one holds: the output, and weights, which grow with
    ///     the source's sides.
    init(
        width: Int, height: Int, extent: (width: Double, height: Double), channels: Int, hasAlpha: Bool,
        plan: ThumbnailSize.Plan, budget: inout Int
    ) throws(ImageError) {
        let weights =
            FilterTable.taps(source: width, extent: extent.width, scaled: plan.scaled.width) * plan.window.width
            + FilterTable.taps(source: height, extent: extent.height, scaled: plan.scaled.height) * plan.window.height
        let need = weights * 4 + plan.window.width * plan.window.height * channels
        guard need <= budget else {
            let target = "\(plan.window.width)x\(plan.window.height)"
            throw .tooLarge(.init("scaling \(width)x\(height) to \(target) needs \(need >> 20) MiB"))
        }
        budget -= need
        across = FilterTable(
            source: width, extent: extent.width, scaled: plan.scaled.width,
            window: plan.left..<plan.left + plan.window.width)
        down = FilterTable(
            source: height, extent: extent.height, scaled: plan.scaled.height,
            window: plan.top..<plan.top + plan.window.height)
        output = Raster(width: plan.window.width, height: plan.window.height, channels: channels)
        self.hasAlpha = hasAlpha && channels == 4
        // Sixteen columns side by side, in planes; of colours without alpha the fourth is left out.
        let planes = channels == 1 ? 1 : hasAlpha ? 4 : 3
        memory = Memory(down, rowFloats: (plan.window.width + 15) / 16 * 16 * planes)
    }

    deinit { memory.floats.deallocate() }

    /// Takes the next source rows.
    func push(_ pixels: UnsafePointer<UInt8>, stride: Int, rows: Int) {
        across.withFilter { across in
            down.withFilter { down in
                var work = larder_resampler(
                    across: across, down: down, channels: UInt32(output.channels), alpha: hasAlpha,
                    held: memory.floats.assumingMemoryBound(to: Float.self), sums: memory.isSums,
                    held_rows: UInt32(memory.rows), out: output.pixels, received: received, produced: produced)
                larder_resample(&work, pixels, stride, UInt32(rows))
                received = work.received
                produced = work.produced
            }
        }
    }
}
