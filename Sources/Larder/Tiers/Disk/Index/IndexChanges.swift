/// What the index does not know yet: the last change of each entry, in the order of the changes.
struct IndexChanges {
    enum Change {
        case used
        case stored(IndexRow)
        case removed
    }

    struct Failed {
        var code: String
        var url: String
        var since: Timestamp
        var until: Timestamp
    }

    private(set) var entries: [CacheKey.Hash: (order: Int, change: Change)] = [:]
    private(set) var failures: [CacheKey.Hash: Failed] = [:]
    /// Before those: all failures are forgotten.
    private(set) var forgetsFailures = false
    private var order = 0

    /// Beyond this changes are not noted any more: they are found again when index and files are compared.
    private static let limit = 65_536
    /// Beyond this no further use is: a run through a whole cache reads faster than any index is written, and then all
    /// of it was used just now.
    private static let usesLimit = 4096

    var count: Int { entries.count + failures.count }
    var isEmpty: Bool { entries.isEmpty && failures.isEmpty && !forgetsFailures }

    mutating func forgetFailures() {
        failures = [:]
        forgetsFailures = true
    }

    mutating func note(_ hash: CacheKey.Hash, _ change: Change) {
        order += 1
        if case .used = change, let known = entries.index(forKey: hash) {
            // A use does not undo what came before: it only comes later in the order.
            entries.values[known].order = order
            return
        }
        let limit = if case .used = change { Self.usesLimit } else { Self.limit }
        if entries.count < limit || entries[hash] != nil { entries[hash] = (order, change) }
        if case .stored = change { failures[hash] = nil }
    }

    mutating func note(_ hash: CacheKey.Hash, failed: Failed) {
        if failures.count < Self.limit { failures[hash] = failed }
    }

    /// In order.
    var sorted: [(hash: CacheKey.Hash, change: Change)] {
        entries.sorted { $0.value.order < $1.value.order }.map { ($0.key, $0.value.change) }
    }

    /// Puts back what could not be written, before what came since.
    mutating func putBack(_ old: IndexChanges) {
        var merged = old
        if forgetsFailures { merged.forgetFailures() }
        for (hash, change) in sorted { merged.note(hash, change) }
        for (hash, failed) in failures { merged.note(hash, failed: failed) }
        self = merged
    }
}
