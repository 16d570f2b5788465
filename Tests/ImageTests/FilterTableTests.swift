import Testing

@testable import Larder

@Suite struct FilterTableTests {
    @Test(arguments: [
        (100, 100.0, 10), (10, 10.0, 100), (7, 6.5, 3), (1, 1.0, 50), (5000, 4999.1, 1), (657, 656.25, 256),
    ])
    func weightsSumToOneWithinTheSource(source: Int, extent: Double, scaled: Int) {
        let table = FilterTable(source: source, extent: extent, scaled: scaled, window: 0..<scaled)
        #expect(table.taps % 4 == 0)
        for index in 0..<scaled {
            let weights = table.weights[index * table.taps..<(index + 1) * table.taps]
            #expect(abs(weights.reduce(0, +) - 1) < 1e-4)
            #expect(table.starts[index] >= 0 && table.starts[index] + table.counts[index] <= source)
            #expect(table.counts[index] >= 1 && table.counts[index] <= table.taps)
            #expect(weights.dropFirst(table.counts[index]).allSatisfy { $0 == 0 })
        }
        #expect(zip(table.starts, table.starts.dropFirst()).allSatisfy { $0 <= $1 })
    }

    @Test func sameSizeIsTheIdentity() {
        let table = FilterTable(source: 20, extent: 20, scaled: 20, window: 5..<9)
        for (index, position) in (5..<9).enumerated() {
            let weights = table.weights[index * table.taps..<(index + 1) * table.taps]
            #expect(abs(weights[index * table.taps + position - table.starts[index]] - 1) < 1e-6)
        }
    }
}
