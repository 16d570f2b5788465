import Synchronization

/// Counts what makes answers given before wrong: a reload of the keys, a removal.
final class Epoch: Sendable {
    private let count = Atomic(0)

    var now: Int { count.load(ordering: .acquiring) }
    func end() { count.add(1, ordering: .acquiringAndReleasing) }
}
