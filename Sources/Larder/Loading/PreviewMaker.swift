/// Makes previews of a progressive image while its bytes arrive: a few, at the priority of the load, never for a
/// prefetch, and never kept.
final class PreviewMaker: Sendable {
    private struct State {
        /// The file from its start, as far as it has come; dropped as soon as it is of no more use.
        var bytes: [UInt8] = []
        var preview: ProgressivePreview?
        var task: Task<Void, Never>?
        var isOver = false

        mutating func end() -> Task<Void, Never>? {
            isOver = true
            bytes = []
            preview = nil
            return task
        }
    }

    /// Beyond this a preview costs more than it shows.
    private static let mostBytes = 8 << 20

    private let state = Lock(State())
    private let queue: DecodeQueue
    private let priority: SharedPriority
    private let make: @Sendable (ImageHeader) -> ProgressivePreview
    private let show: @Sendable (Bitmap) -> Void

    /// - Parameter show: called from any thread.
    init(
        queue: DecodeQueue, priority: SharedPriority, make: @escaping @Sendable (ImageHeader) -> ProgressivePreview,
        show: @escaping @Sendable (Bitmap) -> Void
    ) {
        self.queue = queue
        self.priority = priority
        self.make = make
        self.show = show
    }

    /// Takes the next piece. Decodes nothing on the calling thread.
    func receive(_ progress: FetchProgress) {
        state.withLock { state in
            guard !state.isOver else { return }
            let isContinuous = progress.received == state.bytes.count + progress.piece.count
            let isWhole = progress.expected.map { progress.received >= $0 } ?? false
            let isOther = progress.header.map { !$0.isProgressive } ?? false
            // The rest of a cut transfer, or a picture that comes as it is or is about to: nothing to preview.
            guard isContinuous, !isWhole, !isOther, progress.received <= Self.mostBytes else {
                _ = state.end()
                return
            }
            state.bytes += progress.piece
            guard let header = progress.header else { return }
            var preview = state.preview ?? make(header)
            let isDue = state.bytes.withUnsafeBytes { preview.isDue($0) }
            state.preview = preview
            guard isDue, state.task == nil, priority.value > .low else { return }
            state.task = Task { [weak self, bytes = state.bytes, preview] in
                await self?.work(preview, bytes, header)
            }
        }
    }

    /// The picture is there, or will not be.
    func stop() { state.withLock { $0.end() }?.cancel() }

    private func work(_ preview: ProgressivePreview, _ bytes: [UInt8], _ header: ImageHeader) async {
        let made = try? await queue.run(header: header, priority: priority) {
            (abort) throws(ImageError) -> (Bitmap?, ProgressivePreview) in
            var preview = preview
            let bitmap = bytes.withUnsafeBytes { preview.make($0, abort: abort) }
            return (bitmap, preview)
        }
        let shows = state.withLock { state in
            state.task = nil
            guard !state.isOver else { return false }
            state.preview = made?.1
            return true
        }
        if shows, let bitmap = made?.0 { show(bitmap) }
    }
}
