/// Which rows of a list should be loading: those in view first, more ahead of the scroll than behind it, and
/// nothing of what has gone by.
///
/// A value without a clock, a task or an image: tell it what is visible, and do what it answers.
///
///     let change = window.update(visible: 40..<60, count: 1_000)
///     change.load      // rows that came into view
///     change.prefetch  // rows that will soon
///     change.lower     // rows that left the view but stay close
///     change.cancel    // rows that have gone by
///
/// Every row that it once named in `load` or `prefetch` is named in `cancel` before it is forgotten, so whoever
/// follows it leaves nothing running; and never are more rows wanted than ``wanted`` holds.
public struct ListWindow: Sendable, Hashable {
    /// How far the window reaches.
    public struct Configuration: Sendable, Hashable {
        /// Rows wanted ahead of the view, in the direction of the scroll, when it moves slowly or not. 20 by default.
        public var ahead: Int
        /// Rows wanted behind the view. 5 by default.
        public var behind: Int
        /// Seconds of scrolling to be ahead of, where a velocity is told. 1 by default.
        public var lookahead: Double
        /// The most rows wanted ahead of the view, however fast it scrolls. Rows up to this far away on either side are
        /// not cancelled yet, so that turning round costs nothing. 60 by default.
        public var maximum: Int

        /// What is not given has its default.
        public init(ahead: Int = 20, behind: Int = 5, lookahead: Double = 1, maximum: Int = 60) {
            self.ahead = ahead
            self.behind = behind
            self.lookahead = lookahead
            self.maximum = maximum
        }
    }

    /// What to do after a change of the view. No row stands in two of the lists; each is in the order of urgency.
    public struct Change: Sendable, Hashable {
        /// Rows that came into view, to be loaded now; those that were prefetched already are raised.
        public var load: [Int] = []
        /// Rows to be loaded when nothing in view waits, the nearest ahead first.
        public var prefetch: [Int] = []
        /// Rows that left the view and are still wanted, though less.
        public var lower: [Int] = []
        /// Rows that are no longer wanted.
        public var cancel: [Int] = []

        /// Whether there is nothing to do.
        public var isEmpty: Bool { load.isEmpty && prefetch.isEmpty && lower.isEmpty && cancel.isEmpty }
    }

    /// Where a list scrolls to.
    public enum Direction: Sendable, Hashable {
        /// Towards higher rows. The direction of a list that has not moved yet.
        case forward
        /// Towards row 0.
        case backward
    }

    /// How far the window reaches.
    public let configuration: Configuration
    /// The rows in view.
    public private(set) var visible = 0..<0
    /// All rows that are loaded, loading or to be prefetched: at most the view and ``Configuration/maximum`` on either
    /// side.
    public private(set) var wanted = 0..<0
    /// Where the list was last scrolled to.
    public private(set) var direction = Direction.forward

    /// Numbers below zero count as zero.
    public init(_ configuration: Configuration = .init()) {
        var configuration = configuration
        configuration.behind = max(0, configuration.behind)
        configuration.maximum = max(0, configuration.maximum)
        configuration.ahead = min(max(0, configuration.ahead), configuration.maximum)
        configuration.behind = min(configuration.behind, configuration.maximum)
        self.configuration = configuration
    }

    /// Takes note of what is visible.
    ///
    /// - Parameters:
    ///   - visible: the rows in view, cut to what the list has.
    ///   - count: the rows of the list. It may grow and shrink.
    ///   - velocity: rows a second, below zero where it scrolls backward; nil where it is not known: the direction
    ///     is then that in which the view has moved.
    public mutating func update(visible: Range<Int>, count: Int, velocity: Double? = nil) -> Change {
        let rows = 0..<max(0, count)
        let visible = visible.clamped(to: rows)
        turn(to: visible, velocity)
        let wanted = window(around: visible, rows, velocity)

        var change = Change()
        change.load = ordered(visible.excluding(self.visible))
        change.prefetch =
            nearest(visible, in: wanted).filter { !self.wanted.contains($0) }
        change.lower = nearest(visible, in: wanted).filter { self.visible.contains($0) }
        change.cancel = self.wanted.excluding(wanted)
        self.visible = visible
        self.wanted = wanted
        return change
    }

    /// Forgets all rows, as before other contents: what is to be cancelled.
    public mutating func reset() -> [Int] {
        let rows = Array(wanted)
        (visible, wanted, direction) = (0..<0, 0..<0, .forward)
        return rows
    }

    private mutating func turn(to visible: Range<Int>, _ velocity: Double?) {
        if let velocity {
            if velocity > 0 { direction = .forward } else if velocity < 0 { direction = .backward }
        } else if visible.isEmpty || self.visible.isEmpty || visible.lowerBound == self.visible.lowerBound {
            return
        } else {
            direction = visible.lowerBound > self.visible.lowerBound ? .forward : .backward
        }
    }

    /// What to want around the view: what the scroll calls for, and what is wanted already and not too far away.
    private func window(around visible: Range<Int>, _ rows: Range<Int>, _ velocity: Double?) -> Range<Int> {
        guard !visible.isEmpty else { return 0..<0 }
        let reach = max(Double(configuration.ahead), abs(velocity ?? 0) * configuration.lookahead)
        let ahead = reach < Double(configuration.maximum) ? Int(reach) : configuration.maximum
        let window =
            direction == .forward
            ? visible.extended(below: configuration.behind, above: ahead, in: rows)
            : visible.extended(below: ahead, above: configuration.behind, in: rows)
        let near = visible.extended(below: configuration.maximum, above: configuration.maximum, in: rows)
        let kept = wanted.clamped(to: near)
        // With a gap between them, as after a jump, the old is of no use.
        guard !kept.isEmpty, kept.lowerBound <= window.upperBound, window.lowerBound <= kept.upperBound else {
            return window
        }
        return min(kept.lowerBound, window.lowerBound)..<max(kept.upperBound, window.upperBound)
    }

    private func ordered(_ rows: [Int]) -> [Int] { direction == .forward ? rows : rows.reversed() }

    /// The rows of `wanted` outside of the view: ahead of it from near to far, then behind it from near to far.
    private func nearest(_ visible: Range<Int>, in wanted: Range<Int>) -> [Int] {
        guard !visible.isEmpty else { return [] }
        let below = Array((wanted.lowerBound..<max(wanted.lowerBound, visible.lowerBound)).reversed())
        let above = Array(min(visible.upperBound, wanted.upperBound)..<wanted.upperBound)
        return direction == .forward ? above + below : below + above
    }
}

extension Range<Int> {
    /// The elements of this range that are not in `other`, in order.
    fileprivate func excluding(_ other: Range<Int>) -> [Int] {
        let common = clamped(to: other)
        guard !common.isEmpty else { return Array(self) }
        return Array(lowerBound..<common.lowerBound) + Array(common.upperBound..<upperBound)
    }

    fileprivate func extended(below: Int, above: Int, in bounds: Range<Int>) -> Range<Int> {
        let low = lowerBound - bounds.lowerBound <= below ? bounds.lowerBound : lowerBound - below
        let high = bounds.upperBound - upperBound <= above ? bounds.upperBound : upperBound + above
        return low..<high
    }
}
