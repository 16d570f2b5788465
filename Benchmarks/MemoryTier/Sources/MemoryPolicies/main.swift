import Measuring

/// Hit ratio in percent, without the first tenth of the trace, in which every policy only fills up.
func hitRatio(_ policy: some SimulatedPolicy, _ trace: Trace) -> Double {
    var cache = SimulatedCache(policy, capacity: trace.capacity)
    var hits = 0
    let warm = trace.requests.count / 10
    for (index, request) in trace.requests.enumerated() where cache.request(request) && index >= warm { hits += 1 }
    return 100 * Double(hits) / Double(trace.requests.count - warm)
}

/// How many of 20 shown rows, asked for `times`, are still there after a scan of 1,000 through room for 100.
func survivors(_ policy: some SimulatedPolicy, times: Int) -> Int {
    var cache = SimulatedCache(policy, capacity: 100)
    // Something was shown before.
    for image in 500..<600 { _ = cache.request(.init(image: image, cost: 1)) }
    for _ in 0..<times { for image in 0..<20 { _ = cache.request(.init(image: image, cost: 1)) } }
    for image in 1_000..<2_000 { _ = cache.request(.init(image: image, cost: 1)) }
    return (0..<20).count { cache.holds($0) }
}

struct Entrant {
    var name: String
    var ratio: (Trace) -> Double
    var survivors: (Int) -> Int

    /// - Parameter make: the policy for a capacity.
    init<Policy: SimulatedPolicy>(_ name: String, _ make: @escaping (_ capacity: Int) -> Policy) {
        self.name = name
        ratio = { hitRatio(make($0.capacity), $0) }
        survivors = { MemoryPolicies.survivors(make(100), times: $0) }
    }
}

let entrants = [
    Entrant("LRU") { _ in LRU() }, Entrant("SIEVE") { _ in Sieve() },
    Entrant("W-TinyLFU 1%") { WTinyLFU(capacity: $0, windowShare: 0.01) },
    Entrant("W-TinyLFU 20%") { WTinyLFU(capacity: $0, windowShare: 0.2) },
    Entrant("S3-FIFO 10%, 2") { _ in S3FIFO(smallShare: 0.1, proof: 2) },
    Entrant("S3-FIFO 10%, 1") { _ in S3FIFO(smallShare: 0.1, proof: 1) },
    Entrant("S3-FIFO 25%, 1") { _ in S3FIFO() },
    Entrant("S3-FIFO 50%, 1") { _ in S3FIFO(smallShare: 0.5, proof: 1) },
]

@MainActor func row(_ name: String, _ cell: (Entrant) -> String) -> [String] { [name] + entrants.map(cell) }
func percent(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
}

var table = Table(row("hits, %") { $0.name })
for trace in Trace.all() { table.add(row(trace.name) { percent($0.ratio(trace)) }) }
for times in 1...4 {
    table.add(row("20 rows asked for \(times) times, left after a scan of 1,000") { String($0.survivors(times)) })
}
print(table.text)
