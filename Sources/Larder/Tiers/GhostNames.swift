/// The names of the last to have left, each once; the oldest is forgotten first. O(1), amortised.
struct GhostNames {
    private var ring: [(name: UInt64, turn: Int)] = []
    private var head = 0
    private var turns: [UInt64: Int] = [:]
    private var turn = 0

    /// Adds a name, and forgets the oldest beyond `limit`.
    mutating func insert(_ name: UInt64, limit: Int) {
        turn += 1
        turns[name] = turn
        ring.append((name, turn))
        while ring.count - head > max(0, limit) {
            // A name that came back or was put in again stands in the ring with an older turn: not it.
            if turns[ring[head].name] == ring[head].turn { turns[ring[head].name] = nil }
            head += 1
        }
        if head >= 1024, head > ring.count / 2 {
            ring.removeSubrange(..<head)
            head = 0
        }
    }

    /// Forgets a name; true where it was known.
    mutating func remove(_ name: UInt64) -> Bool { turns.removeValue(forKey: name) != nil }

    var count: Int { turns.count }
}
