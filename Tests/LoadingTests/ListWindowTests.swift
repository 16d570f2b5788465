import Testing

@testable import Larder

@Suite struct ListWindowTests {
    /// A window that changes within an expectation, where nothing may be mutated.
    private final class Followed {
        private(set) var window: ListWindow
        init(_ configuration: ListWindow.Configuration = .init()) { window = ListWindow(configuration) }
        var visible: Range<Int> { window.visible }
        var wanted: Range<Int> { window.wanted }
        var direction: ListWindow.Direction { window.direction }
        func update(visible: Range<Int>, count: Int, velocity: Double? = nil) -> ListWindow.Change {
            window.update(visible: visible, count: count, velocity: velocity)
        }
        func reset() -> [Int] { window.reset() }
    }

    @Test func firstScreenLoadsInReadingOrderAndPrefetchesAhead() {
        let window = Followed(.init(ahead: 5, behind: 2))
        let change = window.update(visible: 0..<3, count: 100)
        #expect(change.load == [0, 1, 2])
        #expect(change.prefetch == [3, 4, 5, 6, 7])
        #expect(change.lower.isEmpty && change.cancel.isEmpty)
        // Nothing moved: nothing to do.
        #expect(window.update(visible: 0..<3, count: 100).isEmpty)
    }

    @Test func wantsMoreAheadThanBehind() {
        let window = Followed(.init(ahead: 5, behind: 2))
        #expect(window.update(visible: 50..<60, count: 100).prefetch == [60, 61, 62, 63, 64, 49, 48])
        #expect(window.wanted == 48..<65)
    }

    @Test func scrollingLoadsWhatComesAndLowersWhatGoes() {
        let window = Followed(.init(ahead: 4, behind: 1, maximum: 4))
        _ = window.update(visible: 10..<14, count: 100)
        let change = window.update(visible: 12..<16, count: 100)
        #expect(change.load == [14, 15])
        #expect(change.prefetch == [18, 19])
        #expect(change.lower == [11, 10])
        #expect(change.cancel == [])
        #expect(window.update(visible: 15..<19, count: 100).cancel == [9, 10])
    }

    @Test func scrollingBackwardTurnsTheWindowRound() {
        let window = Followed(.init(ahead: 4, behind: 1, maximum: 4))
        _ = window.update(visible: 50..<54, count: 100)
        let change = window.update(visible: 45..<49, count: 100)
        #expect(window.direction == .backward)
        #expect(change.load == [48, 47, 46, 45])
        #expect(change.prefetch == [44, 43, 42, 41])
        #expect(change.lower == [50, 51, 52])
        #expect(change.cancel == [53, 54, 55, 56, 57])
    }

    @Test func aVelocityReachesFurtherWithinBounds() {
        let window = Followed(.init(ahead: 5, behind: 0, lookahead: 1, maximum: 30))
        _ = window.update(visible: 100..<110, count: 1_000, velocity: 12.7)
        #expect(window.wanted == 100..<122)
        _ = window.update(visible: 100..<110, count: 1_000, velocity: 1e300)
        #expect(window.wanted == 100..<140)
        _ = window.update(visible: 100..<110, count: 1_000, velocity: .nan)
        _ = window.update(visible: 100..<110, count: 1_000, velocity: -.infinity)
        #expect(window.direction == .backward)
        #expect(window.wanted == 70..<140)
    }

    /// A finger that goes up and down by less than the window makes no work beyond the first time.
    @Test func backAndForthIsFree() {
        let window = Followed(.init(ahead: 20, behind: 5, maximum: 60))
        _ = window.update(visible: 500..<520, count: 1_000)
        _ = window.update(visible: 510..<530, count: 1_000)
        _ = window.update(visible: 500..<520, count: 1_000)
        for turn in 0..<100 {
            let low = turn % 2 == 0 ? 510 : 500
            let change = window.update(visible: low..<low + 20, count: 1_000)
            #expect(change.prefetch.isEmpty)
            #expect(change.cancel.isEmpty)
            #expect(change.load.count == 10)
        }
    }

    @Test func aJumpDropsWhatIsFarAway() {
        let window = Followed(.init(ahead: 5, behind: 2, maximum: 10))
        _ = window.update(visible: 0..<10, count: 10_000)
        let change = window.update(visible: 5_000..<5_010, count: 10_000)
        #expect(change.cancel == Array(0..<15))
        #expect(change.load == Array(5_000..<5_010))
        #expect(window.wanted == 4_998..<5_015)
    }

    /// What is left of the old window lies near, but not at the new one: it must not fill the gap.
    @Test func aJumpWithAGapDoesNotWantTheRowsBetween() {
        let window = Followed(.init(ahead: 5, behind: 2, maximum: 60))
        _ = window.update(visible: 0..<10, count: 10_000)
        let change = window.update(visible: 60..<70, count: 10_000)
        #expect(change.cancel == Array(0..<15))
        #expect(window.wanted == 58..<75)
    }

    @Test func aShrinkingListCancelsWhatItLost() {
        let window = Followed(.init(ahead: 5, behind: 2))
        _ = window.update(visible: 90..<100, count: 200)
        let change = window.update(visible: 90..<100, count: 95)
        #expect(change.cancel == Array(95..<105))
        #expect(window.visible == 90..<95)
        let gone = window.update(visible: 90..<100, count: 0)
        #expect(gone.cancel == Array(88..<95))
        #expect(window.wanted.isEmpty)
        #expect(window.update(visible: 0..<10, count: -5).isEmpty)
    }

    @Test func rangesFromOutsideAreCut() {
        let window = Followed()
        #expect(window.update(visible: -10..<3, count: 5).load == [0, 1, 2])
        _ = window.update(visible: Int.min..<Int.max, count: 10)
        #expect(window.visible == 0..<10)
        let odd = Followed(.init(ahead: -5, behind: Int.max, lookahead: .infinity, maximum: -1))
        #expect(odd.update(visible: 3..<4, count: 10, velocity: 0).load == [3])
        let wide = Followed(.init(ahead: .max, behind: .max, maximum: .max))
        _ = wide.update(visible: 5..<6, count: 20, velocity: 1)
        #expect(wide.wanted == 0..<20)
    }

    @Test func resettingCancelsEverything() {
        let window = Followed(.init(ahead: 2, behind: 2))
        _ = window.update(visible: 10..<12, count: 50)
        #expect(window.reset() == [8, 9, 10, 11, 12, 13])
        #expect(window.update(visible: 10..<12, count: 50).load == [10, 11])
    }

    /// Whoever follows the answers has, at every moment, exactly the wanted rows running: nothing is asked for twice,
    /// nothing is left behind, and it never grows beyond its bound.
    @Test(arguments: [UInt64(1), 2, 3, 4]) func followersNeverLeak(seed: UInt64) {
        var random = Numbers(state: seed)
        let configuration = ListWindow.Configuration(ahead: 20, behind: 5, lookahead: 0.5, maximum: 40)
        let window = Followed(configuration)
        var running: Set<Int> = []
        var shown: Set<Int> = []
        var top = 0
        var count = 10_000
        for turn in 0..<5_000 {
            switch Int.random(in: 0..<20, using: &random) {
            case 0: top = Int.random(in: 0..<10_000, using: &random)
            case 1: count = Int.random(in: 0..<10_000, using: &random)
            case 2...10: top += Int.random(in: 0..<30, using: &random)
            default: top -= Int.random(in: 0..<30, using: &random)
            }
            top = max(0, top)
            let velocity = turn % 3 == 0 ? nil : Double.random(in: -400...400, using: &random)
            let change = window.update(visible: top..<top + 20, count: count, velocity: velocity)
            let known = running.isSuperset(of: change.cancel)
            let isNew = running.subtracting(change.cancel).isDisjoint(with: change.prefetch)
            #expect(known, "only what runs is cancelled")
            #expect(isNew, "nothing is asked for twice")
            running.subtract(change.cancel)
            running.formUnion(change.prefetch)
            for row in change.load { running.insert(row) }
            let left = change.lower.allSatisfy { shown.contains($0) && !window.visible.contains($0) }
            #expect(left, "only what has left the view is lowered")
            shown = Set(window.visible)
            let isExact = running == Set(window.wanted)
            #expect(isExact, "what runs is what is wanted, at turn \(turn)")
            guard known, isNew, left, isExact else { return }
            #expect(running.count <= 20 + 2 * configuration.maximum)
            let lists = change.load + change.prefetch + change.lower + change.cancel
            #expect(Set(lists).count == lists.count)
        }
        for row in window.reset() { running.remove(row) }
        #expect(running.isEmpty)
    }
}

private struct Numbers: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        return word ^ (word >> 31)
    }
}
