import CImageCodecs
import Glibc

/// The weights by which source samples make up each output sample along one axis: Lanczos with three lobes, widened
/// by the factor of reduction so that nothing aliases.
struct FilterTable {
    /// Room for the weights of one output sample.
    let taps: Int
    /// The first source sample of each output sample. It never falls.
    let starts: [UInt32]
    /// Where its source samples end, `taps` behind the first at most. It never falls.
    let ends: [UInt32]
    /// `taps` weights for each output sample, as many as it has samples; their sum is 1.
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
        let taps = Self.taps(source: source, extent: extent, scaled: scaled)
        var starts = [UInt32]()
        var ends = [UInt32]()
        var weights = [Float](repeating: 0, count: taps * window.count)
        starts.reserveCapacity(window.count)
        ends.reserveCapacity(window.count)
        weights.withUnsafeMutableBufferPointer { weights in
            for (index, position) in window.enumerated() {
                let center = (Double(position) + 0.5) * scale
                let first = min(max(0, Int((center - support + 0.5).rounded(.down))), source - 1)
                let last = max(first + 1, min(source, Int((center + support + 0.5).rounded(.down)), first + taps))
                let row = UnsafeMutableBufferPointer(rebasing: weights[index * taps..<index * taps + last - first])
                Lanczos.fill(row, from: (Double(first) + 0.5 - center) / stretch, step: 1 / stretch)
                starts.append(UInt32(first))
                ends.append(UInt32(last))
            }
        }
        self.taps = taps
        self.starts = starts
        self.ends = ends
        self.weights = weights
    }

    /// How many weights one output sample has at most.
    static func taps(source: Int, extent: Double, scaled: Int) -> Int {
        min(source, Int((3 * max(extent / Double(scaled), 1)).rounded(.up)) * 2 + 1)
    }

    /// How many output samples are begun and not yet complete, at most, while source samples come one after the other.
    var open: Int {
        var most = 0
        var begun = 0
        for index in starts.indices {
            while begun < starts.count, starts[begun] < ends[index] { begun += 1 }
            most = max(most, begun - index)
        }
        return most
    }

    /// For the loops in C.
    func withFilter<Result>(_ body: (larder_filter) -> Result) -> Result {
        starts.withUnsafeBufferPointer { starts in
            ends.withUnsafeBufferPointer { ends in
                weights.withUnsafeBufferPointer { weights in
                    body(
                        larder_filter(
                            starts: starts.baseAddress, ends: ends.baseAddress, weights: weights.baseAddress,
                            taps: UInt32(taps), count: UInt32(starts.count)))
                }
            }
        }
    }
}

/// sinc(x) sinc(x / 3), -3 < x < 3.
private enum Lanczos {
    /// Values for 1 in x. Lines between them are within 0.000002 of the curve.
    private static let density = 512

    /// Drawn once: two sines for each weight cost more than the scaling itself.
    private static let curve: [Float] = (0...3 * density).map {
        guard $0 > 0 else { return 1 }
        let angle = Double.pi * Double($0) / Double(density)
        return Float(3 * sin(angle) * sin(angle / 3) / (angle * angle))
    }

    /// Weights for samples that lie `step` apart, made so that their sum is 1.
    static func fill(_ weights: UnsafeMutableBufferPointer<Float>, from first: Double, step: Double) {
        curve.withUnsafeBufferPointer { curve in
            var sum: Float = 0
            for tap in weights.indices {
                let position = Float(abs(first + Double(tap) * step) * Double(density))
                let below = Int(position)
                guard below < curve.count - 1 else { continue }
                let weight = curve[below] + (curve[below + 1] - curve[below]) * (position - Float(below))
                weights[tap] = weight
                sum += weight
            }
            // One sample alone may lie where the curve is 0.
            if sum == 0 {
                weights[0] = 1
                sum = 1
            }
            let factor = 1 / sum
            for tap in weights.indices { weights[tap] *= factor }
        }
    }
}
