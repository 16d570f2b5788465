import Glibc

/// The weights by which source samples make up each output sample along one axis: Lanczos with three lobes, widened
/// by the factor of reduction so that nothing aliases.
struct FilterTable {
    /// Weights of one output sample; those unused are 0.
    let taps: Int
    /// The first source sample of each output sample.
    let starts: [Int]
    /// How many source samples each output sample takes, at most `taps`.
    let counts: [Int]
    /// `taps` weights for each output sample; their sum is 1.
    let weights: [Float]

    /// - Parameters:
    ///   - source: samples in the source.
    ///   - extent: how many of them the picture covers; the last may be covered in part.
    ///   - scaled: samples that the whole source becomes.
    ///   - window: those of them that are wanted.
    init(source: Int, extent: Double, scaled: Int, window: Range<Int>) {
        let scale = extent / Double(scaled)
        let stretch = max(scale, 1)
        let support = 3 * stretch
        // Rounded up to whole vectors of four.
        taps = (min(source, Int(support.rounded(.up)) * 2 + 1) + 3) & ~3
        var starts = [Int]()
        var counts = [Int]()
        var weights = [Float](repeating: 0, count: taps * window.count)
        starts.reserveCapacity(window.count)
        counts.reserveCapacity(window.count)
        for (index, position) in window.enumerated() {
            let center = (Double(position) + 0.5) * scale
            let first = min(max(0, Int((center - support + 0.5).rounded(.down))), source - 1)
            let last = max(first + 1, min(source, Int((center + support + 0.5).rounded(.down)), first + taps))
            let values = (first..<last).map { Self.lanczos((Double($0) + 0.5 - center) / stretch) }
            let sum = values.reduce(0, +)
            for (tap, value) in values.enumerated() { weights[index * taps + tap] = Float(value / sum) }
            starts.append(first)
            counts.append(last - first)
        }
        self.starts = starts
        self.counts = counts
        self.weights = weights
    }

    private static func lanczos(_ x: Double) -> Double {
        if x == 0 { return 1 }
        guard abs(x) < 3 else { return 0 }
        let angle = Double.pi * x
        return 3 * sin(angle) * sin(angle / 3) / (angle * angle)
    }
}
