/// What travels beside a phase while an image loads. Safe from any thread.
public final class LoadProgress: Sendable {
    /// A moment of a load.
    public struct Snapshot: Sendable {
        /// Bytes of the body received so far.
        public var received: Int
        /// Bytes that the server announced, or nil.
        public var expected: Int?
        /// A tiny stand-in (from a ThumbHash), or nil. Known from ``ImageRequest/placeholder``, or from a thumbnail on
        /// disk that may not be used before the server was asked.
        public var placeholder: Bitmap?
        /// The colour of which the picture has most, known with the placeholder, or nil.
        public var color: ImageColor?
        /// The latest coarse picture of a progressive image, upright, or nil. Never stored.
        public var preview: Bitmap?

        /// From 0 to 1, or nil where the length is not known.
        public var fraction: Double? {
            guard let expected, expected > 0 else { return nil }
            return min(1, Double(received) / Double(expected))
        }
    }

    private struct State {
        var snapshot = Snapshot(received: 0)
        var observers: [Int: @Sendable (Snapshot) -> Void] = [:]
        var lastID = 0
    }

    private let state = Lock(State())

    package init() {}

    /// The latest moment.
    public var snapshot: Snapshot { state.withLock { $0.snapshot } }

    /// Calls `observer` after each change, from whichever thread changed it, until the result is released.
    package func observe(_ observer: @escaping @Sendable (Snapshot) -> Void) -> Observation {
        let id = state.withLock { state -> Int in
            state.lastID += 1
            state.observers[state.lastID] = observer
            return state.lastID
        }
        return Observation { [weak self] in self?.state.withLock { _ = $0.observers.removeValue(forKey: id) } }
    }

    /// Shows what is known of the picture before it is there.
    func show(_ placeholder: ImagePlaceholder) {
        let bitmap = try? placeholder.thumbHash.bitmap()
        update { snapshot in
            snapshot.placeholder = bitmap
            snapshot.color = placeholder.color
        }
    }

    /// A load begins: nothing has come yet.
    func restart() {
        guard state.withLock({ $0.snapshot.received > 0 || $0.snapshot.preview != nil }) else { return }
        update { ($0.received, $0.expected, $0.preview) = (0, nil, nil) }
    }

    package func update(_ change: (inout Snapshot) -> Void) {
        let (snapshot, observers) = state.withLock { state in
            change(&state.snapshot)
            return (state.snapshot, Array(state.observers.values))
        }
        for observer in observers { observer(snapshot) }
    }

    /// Ends an observation when it is released.
    package final class Observation: Sendable {
        private let end: @Sendable () -> Void
        fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = end }
        deinit { end() }
    }
}
