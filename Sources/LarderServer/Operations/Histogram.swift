/// Counts of observations at or below fixed bounds, as Prometheus wants them.
package struct Histogram: Sendable, Hashable {
    /// Seconds.
    package static let latencyBounds = [
        0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30,
    ]

    private let bounds: [Double]
    private var counts: [UInt64]
    package private(set) var sum = 0.0
    package private(set) var count: UInt64 = 0

    package init(bounds: [Double] = Histogram.latencyBounds) {
        self.bounds = bounds
        counts = Array(repeating: 0, count: bounds.count)
    }

    package mutating func observe(_ value: Double) {
        sum += value
        count += 1
        if let index = bounds.firstIndex(where: { value <= $0 }) { counts[index] += 1 }
    }

    /// Lines of Prometheus' text format 0.0.4; `labels` such as `route="image"`, or empty.
    package func lines(_ name: String, labels: String) -> String {
        let separator = labels.isEmpty ? "" : ","
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        var text = ""
        var total: UInt64 = 0
        for (bound, count) in zip(bounds, counts) {
            total += count
            text += "\(name)_bucket{\(labels)\(separator)le=\"\(bound)\"} \(total)\n"
        }
        text += "\(name)_bucket{\(labels)\(separator)le=\"+Inf\"} \(count)\n"
        text += "\(name)_sum\(braces) \(sum)\n\(name)_count\(braces) \(count)\n"
        return text
    }
}
