import Testing

@testable import Larder

/// Against the definition, in doubles: every output pixel is the weighted sum of the source pixels under the filter.
@Suite struct ResamplerTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var width, height: Int
        var plan: ThumbnailSize.Plan
        /// Of the last column and row less than a pixel may be covered.
        var extent: (width: Double, height: Double)

        init(
            _ width: Int, _ height: Int, to scaledWidth: Int, _ scaledHeight: Int,
            window: (left: Int, top: Int, width: Int, height: Int)? = nil, missing: Double = 0
        ) {
            self.width = width
            self.height = height
            let window = window ?? (0, 0, scaledWidth, scaledHeight)
            plan = ThumbnailSize.Plan(
                scaled: .init(width: scaledWidth, height: scaledHeight),
                window: .init(width: window.width, height: window.height), left: window.left, top: window.top)
            extent = (Double(width) - missing, Double(height) - missing)
        }

        var testDescription: String {
            "\(width)x\(height) to \(plan.scaled.width)x\(plan.scaled.height), window \(plan.window)"
        }
    }

    static let cases = [
        // Sixteen rows and sixteen columns go together: just less, as many, just more.
        Case(15, 15, to: 16, 16), Case(16, 16, to: 15, 15), Case(17, 17, to: 17, 17), Case(33, 31, to: 16, 17),
        Case(100, 80, to: 43, 35, missing: 0.375), Case(131, 257, to: 50, 98, missing: 0.5),
        // One pixel, one row, one column, on either side.
        Case(1, 1, to: 1, 1), Case(1, 1, to: 20, 9), Case(1, 40, to: 1, 7), Case(40, 1, to: 7, 1),
        Case(50, 30, to: 1, 1),
        // Filters wider than what is taken of a row at once, and taller than a strip.
        Case(1500, 3, to: 5, 1), Case(3, 900, to: 2, 3), Case(700, 400, to: 3, 2),
        // Enlarged little and much: output rows are held, then source rows.
        Case(40, 40, to: 60, 61), Case(20, 40, to: 30, 500), Case(19, 18, to: 100, 300),
        // A window into the middle, at the end, and of one pixel.
        Case(90, 120, to: 45, 60, window: (10, 20, 20, 17)), Case(90, 120, to: 45, 60, window: (25, 40, 20, 20)),
        Case(64, 200, to: 128, 400, window: (60, 390, 40, 10)), Case(90, 120, to: 45, 60, window: (44, 59, 1, 1)),
    ]

    @Test(arguments: cases) func isTheWeightedSum(_ test: Case) throws {
        for (channels, hasAlpha) in [(1, false), (4, false), (4, true)] {
            let source = Self.source(test, channels, hasAlpha)
            let resampler = try Self.resampler(test, channels, hasAlpha)
            // In strips of uneven height.
            var random = Noise(seed: 1)
            try source.withUnsafeBufferPointer { pixels in
                let base = try #require(pixels.baseAddress)
                let stride = test.width * channels
                var row = 0
                while row < test.height {
                    let rows = min(Int.random(in: 1...40, using: &random), test.height - row)
                    resampler.push(base + row * stride, stride: stride, rows: rows)
                    row += rows
                }
            }
            let expected = Self.expected(test, source, channels, hasAlpha)
            let output = resampler.output
            #expect(output.stride * output.height == expected.count)
            for (index, value) in expected.enumerated() {
                let difference = abs(value - Double(output.pixels[index]))
                guard difference > 0.52 else { continue }
                // A colour that is hardly there is hardly known.
                let alpha = hasAlpha ? expected[index | 3] : 255
                if alpha < 1 { continue }
                #expect(difference <= 0.51 + 0.05 * 255 / alpha, "\(channels), \(hasAlpha), at \(index): \(value)")
            }
        }
    }

    @Test func whatTheStripsAreChangesNothing() throws {
        let test = Case(300, 211, to: 91, 64)
        let source = Self.source(test, 4, true)
        let outputs = try [1, 7, 16, 211].map { rows in
            let resampler = try Self.resampler(test, 4, true)
            try source.withUnsafeBufferPointer { pixels in
                let base = try #require(pixels.baseAddress)
                for row in stride(from: 0, to: 211, by: rows) {
                    resampler.push(base + row * 1200, stride: 1200, rows: min(rows, 211 - row))
                }
            }
            return Array(UnsafeBufferPointer(start: resampler.output.pixels, count: 91 * 64 * 4))
        }
        for output in outputs {
            #expect(zip(output, outputs[0]).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
        }
    }

    /// A few rows of the output's width, whatever the source's height.
    @Test(arguments: [(16_384, 256), (16_384, 1), (1000, 999), (100, 100), (100, 199), (100, 10_000), (17, 60_000)])
    func fewRowsAreHeld(source: Int, scaled: Int) throws {
        let resampler = try Self.resampler(Case(10, source, to: 160, scaled), 4, true)
        #expect(resampler.heldBytes <= 22 * 160 * 4 * 4, "\(resampler.heldBytes)")
    }

    /// The weights themselves grow with the source's sides.
    @Test func aFilterThatWouldNotFitIsRefused() throws {
        let column = Case(1, 90_000_000, to: 1, 100)
        #expect(ImageDecoderTests.code { try Self.resampler(column, 4, false) } == "too_large")
        #expect(ImageDecoderTests.code { try Self.resampler(Case(1_000_000, 1, to: 100, 1), 1, false) } == nil)
    }

    private static func resampler(_ test: Case, _ channels: Int, _ hasAlpha: Bool) throws(ImageError) -> Resampler {
        var budget = ImageLimits().maxDecodeBytes
        return try Resampler(
            width: test.width, height: test.height, extent: test.extent, channels: channels, hasAlpha: hasAlpha,
            plan: test.plan, budget: &budget)
    }

    /// Noise, and of opaque pictures a fourth channel that must not be looked at.
    private static func source(_ test: Case, _ channels: Int, _ hasAlpha: Bool) -> [UInt8] {
        var random = Noise(seed: 7)
        return (0..<test.width * test.height * channels).map { _ in UInt8(truncatingIfNeeded: random.next() >> 24) }
    }

    private static func expected(_ test: Case, _ source: [UInt8], _ channels: Int, _ hasAlpha: Bool) -> [Double] {
        let (plan, extent) = (test.plan, test.extent)
        let across = FilterTable(
            source: test.width, extent: extent.width, scaled: plan.scaled.width,
            window: plan.left..<plan.left + plan.window.width)
        let down = FilterTable(
            source: test.height, extent: extent.height, scaled: plan.scaled.height,
            window: plan.top..<plan.top + plan.window.height)
        func sum(_ table: FilterTable, _ index: Int, _ sample: (Int) -> Double) -> Double {
            (Int(table.starts[index])..<Int(table.ends[index])).reduce(0) { sum, position in
                sum + Double(table.weights[index * table.taps + position - Int(table.starts[index])]) * sample(position)
            }
        }
        func level(_ value: Double) -> Double { min(255, max(0, value)) }
        let scaled = (0..<test.height).map { row in
            (0..<plan.window.width).map { x in
                (0..<channels).map { channel in
                    sum(across, x) { column in
                        let pixel = (row * test.width + column) * channels
                        let alpha = hasAlpha && channel < 3 ? Double(source[pixel + 3]) / 255 : 1
                        return alpha * Double(source[pixel + channel])
                    }
                }
            }
        }
        return (0..<plan.window.height).flatMap { y in
            (0..<plan.window.width).flatMap { x in
                let sums = (0..<channels).map { channel in sum(down, y) { scaled[$0][x][channel] } }
                guard channels == 4 else { return sums.map(level) }
                guard hasAlpha else { return sums[0..<3].map(level) + [255] }
                return sums[0..<3].map { level(sums[3] > 0.5 ? $0 * 255 / sums[3] : 0) } + [level(sums[3])]
            }
        }
    }
}

private struct Noise: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ state >> 32
    }
}
