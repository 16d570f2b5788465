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
    private let sum: UnsafeMutablePointer<Float>
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
        rowFloats = (plan.window.width * channels + 3) & ~3
        ringRows = down.taps + 1
        ring = Self.floats(rowFloats * ringRows)
        sum = Self.floats(rowFloats)
    }

    deinit {
        UnsafeMutableRawPointer(ring).deallocate()
        UnsafeMutableRawPointer(sum).deallocate()
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
        guard produced < output.height, row >= down.starts[produced] else { return }
        let target = ring + (row % ringRows) * rowFloats
        if channels == 4 { scaleColor(line, into: target) } else { scaleGray(line, into: target) }
        while produced < output.height, down.starts[produced] + down.counts[produced] <= received {
            combine(produced)
            produced += 1
        }
    }

    private func scaleColor(_ line: UnsafePointer<Float>, into target: UnsafeMutablePointer<Float>) {
        let source = UnsafeRawPointer(line)
        let goal = UnsafeMutableRawPointer(target)
        let taps = across.taps
        across.weights.withUnsafeBufferPointer { weights in
            across.starts.withUnsafeBufferPointer { starts in
                guard var weight = weights.baseAddress else { return }
                for x in 0..<output.width {
                    var first = SIMD4<Float>.zero
                    var second = SIMD4<Float>.zero
                    var pixel = source + 16 &* starts[x]
                    var tap = 0
                    while tap < taps {
                        first += pixel.load(as: SIMD4<Float>.self) * weight[tap]
                        second += pixel.load(fromByteOffset: 16, as: SIMD4<Float>.self) * weight[tap &+ 1]
                        first += pixel.load(fromByteOffset: 32, as: SIMD4<Float>.self) * weight[tap &+ 2]
                        second += pixel.load(fromByteOffset: 48, as: SIMD4<Float>.self) * weight[tap &+ 3]
                        pixel += 64
                        tap &+= 4
                    }
                    goal.storeBytes(of: first + second, toByteOffset: 16 &* x, as: SIMD4<Float>.self)
                    weight += taps
                }
            }
        }
    }

    private func scaleGray(_ line: UnsafePointer<Float>, into target: UnsafeMutablePointer<Float>) {
        let taps = across.taps
        across.weights.withUnsafeBytes { weights in
            across.starts.withUnsafeBufferPointer { starts in
                guard var weight = weights.baseAddress else { return }
                for x in 0..<output.width {
                    var total = SIMD4<Float>.zero
                    let samples = UnsafeRawPointer(line + starts[x])
                    for offset in stride(from: 0, to: 4 &* taps, by: 16) {
                        total +=
                            samples.loadUnaligned(fromByteOffset: offset, as: SIMD4<Float>.self)
                            * weight.loadUnaligned(fromByteOffset: offset, as: SIMD4<Float>.self)
                    }
                    target[x] = total.sum()
                    weight += 4 &* taps
                }
            }
        }
    }

    /// Adds up the rows of one output row and writes it.
    private func combine(_ y: Int) {
        let first = down.starts[y]
        let count = down.counts[y]
        let total = UnsafeMutableRawPointer(sum)
        let bytes = rowFloats &* 4
        sum.update(repeating: 0, count: rowFloats)
        down.weights.withUnsafeBufferPointer { weights in
            for tap in 0..<count {
                let weight = weights[y * down.taps + tap]
                let row = UnsafeRawPointer(ring + ((first + tap) % ringRows) * rowFloats)
                var offset = 0
                while offset < bytes {
                    let value = total.load(fromByteOffset: offset, as: SIMD4<Float>.self)
                    let addend = row.load(fromByteOffset: offset, as: SIMD4<Float>.self) * weight
                    total.storeBytes(of: value + addend, toByteOffset: offset, as: SIMD4<Float>.self)
                    offset &+= 16
                }
            }
        }
        if hasAlpha { divideByAlpha() }
        write(output.pixels + y * output.stride, output.stride)
    }

    private func divideByAlpha() {
        for x in 0..<output.width {
            let pixel = sum + 4 &* x
            let alpha = pixel[3]
            let factor = alpha > 0.5 ? 255 / alpha : 0
            pixel[0] *= factor
            pixel[1] *= factor
            pixel[2] *= factor
        }
    }

    private func write(_ target: UnsafeMutablePointer<UInt8>, _ count: Int) {
        for index in 0..<count {
            // 2^23 added, the integer stands in the low bits, rounded: no conversion that could trap.
            let held = max(0, min(255, sum[index])) + 8_388_608
            target[index] = UInt8(truncatingIfNeeded: held.bitPattern)
        }
    }
}
