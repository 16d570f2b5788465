import Glibc
import Testing

@testable import Larder

@Suite struct FilterTableTests {
    @Test(arguments: [
        (100, 100.0, 10), (10, 10.0, 100), (7, 6.5, 3), (1, 1.0, 50), (5000, 4999.1, 1), (657, 656.25, 256),
    ])
    func weightsSumToOneWithinTheSource(source: Int, extent: Double, scaled: Int) {
        let table = FilterTable(source: source, extent: extent, scaled: scaled, window: 0..<scaled)
        for index in 0..<scaled {
            let weights = table.weights[index * table.taps..<(index + 1) * table.taps]
            #expect(abs(weights.reduce(0, +) - 1) < 1e-4)
            #expect(table.ends[index] <= source)
            let count = Int(table.ends[index]) - Int(table.starts[index])
            #expect(count >= 1 && count <= table.taps)
            #expect(weights.dropFirst(count).allSatisfy { $0 == 0 })
        }
        #expect(zip(table.starts, table.starts.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(zip(table.ends, table.ends.dropFirst()).allSatisfy { $0 <= $1 })
    }

    @Test func sameSizeIsTheIdentity() {
        let table = FilterTable(source: 20, extent: 20, scaled: 20, window: 5..<9)
        for (index, position) in (5..<9).enumerated() {
            let weights = table.weights[index * table.taps..<(index + 1) * table.taps]
            #expect(abs(weights[index * table.taps + position - Int(table.starts[index])] - 1) < 1e-6)
        }
    }

    /// Against the formula, which the table's curve stands for.
    @Test func weightsAreThoseOfLanczos() {
        let table = FilterTable(source: 300, extent: 300, scaled: 100, window: 40..<60)
        for (index, position) in (40..<60).enumerated() {
            let center = (Double(position) + 0.5) * 3
            let exact = (0..<Int(table.ends[index] - table.starts[index])).map { tap in
                let angle = Double.pi * (Double(Int(table.starts[index]) + tap) + 0.5 - center) / 3
                return angle == 0 ? 1 : abs(angle) < 3 * .pi ? 3 * sin(angle) * sin(angle / 3) / (angle * angle) : 0
            }
            let sum = exact.reduce(0, +)
            for (tap, value) in exact.enumerated() {
                #expect(abs(Double(table.weights[index * table.taps + tap]) - value / sum) < 1e-5)
            }
        }
    }
}
