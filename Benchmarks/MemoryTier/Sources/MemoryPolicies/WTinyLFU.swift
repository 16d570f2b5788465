/// W-TinyLFU (Einziger et al., 2017): a small LRU window, then a segmented LRU that is entered only by who has been
/// asked for more often than who would have to leave. Frequencies are a count-min sketch of 4 bits that ages.
struct WTinyLFU: SimulatedPolicy {
    private let window = PolicyQueue()
    private let probation = PolicyQueue()
    private let protected = PolicyQueue()
    private let windowCapacity: Int
    private let mainCapacity: Int
    private var sketch: Sketch

    init(capacity: Int, windowShare: Double) {
        windowCapacity = max(1, Int(Double(capacity) * windowShare))
        mainCapacity = capacity - windowCapacity
        sketch = Sketch()
    }

    mutating func missed(_ fingerprint: UInt64) { sketch.add(fingerprint) }

    mutating func used(_ node: PolicyNode) {
        sketch.add(node.fingerprint)
        if node.queue === window {
            window.remove(node)
            window.push(node)
        } else {
            node.queue?.remove(node)
            protected.push(node)
            while protected.cost > mainCapacity * 8 / 10, let demoted = protected.popOldest() {
                probation.push(demoted)
            }
        }
    }

    mutating func admit(_ node: PolicyNode) { window.push(node) }
    mutating func remove(_ node: PolicyNode) { node.queue?.remove(node) }

    mutating func victim() -> PolicyNode? {
        while window.cost >= windowCapacity, let candidate = window.oldest {
            if probation.cost + protected.cost + candidate.cost <= mainCapacity {
                window.remove(candidate)
                probation.push(candidate)
            } else {
                let resident = probation.oldest ?? protected.oldest
                guard let resident, sketch[candidate.fingerprint] > sketch[resident.fingerprint] else {
                    return window.remove(candidate)
                }
                window.remove(candidate)
                probation.push(candidate)
                return resident.queue?.remove(resident)
            }
        }
        return probation.popOldest() ?? protected.popOldest() ?? window.popOldest()
    }
}

/// Counts up to 15 in four rows; all are halved after ten uses for each counter.
private struct Sketch {
    private static let width = 1 << 12
    private var rows = [UInt8](repeating: 0, count: 4 * width)
    private var additions = 0

    private func slot(_ row: Int, _ name: UInt64) -> Int {
        let mixed = (name &+ UInt64(row) &* 0x9E37_79B9_7F4A_7C15) &* 0xD6E8_FEB8_6659_FD93
        return row * Self.width + Int(mixed >> 52)
    }

    mutating func add(_ name: UInt64) {
        for row in 0..<4 where rows[slot(row, name)] < 15 { rows[slot(row, name)] += 1 }
        additions += 1
        if additions >= 10 * 1000 {
            for index in rows.indices { rows[index] >>= 1 }
            additions /= 2
        }
    }

    subscript(name: UInt64) -> UInt8 { (0..<4).map { rows[slot($0, name)] }.min() ?? 0 }
}
