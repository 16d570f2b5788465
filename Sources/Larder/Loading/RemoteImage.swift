import Dispatch
import Observation

/// The state of one row of a list: which picture it shows, or why it cannot.
///
/// Bind a row to ``phase`` and call ``load(_:)`` when it is given its content; that is all. A row that is reused
/// for another image is `.empty` at once (or `.success`, where memory has the image: no flicker), late answers to
/// earlier loads are dropped, and nothing changes unless it really does.
///
/// The model may be read from any thread. Its state changes only inside `deliver`, and inside ``load(_:)``,
/// ``retry()`` and ``cancel()`` on the caller's thread: call these where your list lives.
public final class RemoteImage: Observable, Sendable {
    /// Runs a closure where the list lives.
    public typealias Delivery = @Sendable (_ work: @escaping @Sendable () -> Void) -> Void

    private struct State {
        var phase = ImagePhase.empty
        var progress: Double?
        var placeholder: Bitmap?
        var preview: Bitmap?
        var color: ImageColor?
        var request: ImageRequest?
        /// Of the request.
        var id: LoadID?
        var task: ImageTask?
        var watch: LoadProgress.Observation?
        /// Counts loads, so that a late answer knows that it is late.
        var generation = 0
    }

    private let loader: ImageLoader
    private let deliver: Delivery
    private let state = Lock(State())
    private let registrar = ObservationRegistrar()

    /// - Parameters:
    ///   - loader: where images come from.
    ///   - deliver: says where state changes when an answer arrives. The main queue by default; an application
    ///     whose main thread runs a loop of its own (GTK) hands in a closure that posts to that loop.
    public init(loader: ImageLoader, deliver: @escaping Delivery = { DispatchQueue.main.async(execute: $0) }) {
        self.loader = loader
        self.deliver = deliver
    }

    deinit { state.withLock { $0.task }?.cancel() }

    /// `.empty` before anything was asked for.
    public var phase: ImagePhase {
        registrar.access(self, keyPath: \.phase)
        return state.withLock { $0.phase }
    }

    /// From 0 to 1 while bytes arrive; nil before, after, and where the length is not known.
    public var progress: Double? {
        registrar.access(self, keyPath: \.progress)
        return state.withLock { $0.progress }
    }

    /// A tiny stand-in to draw while the phase is `.empty`, or nil.
    public var placeholder: Bitmap? {
        registrar.access(self, keyPath: \.placeholder)
        return state.withLock { $0.placeholder }
    }

    /// The colour of which the picture will have most, to paint its place with while the phase is `.empty`, or nil.
    public var placeholderColor: ImageColor? {
        registrar.access(self, keyPath: \.placeholderColor)
        return state.withLock { $0.color }
    }

    /// The latest coarse picture of a progressive image while the phase is `.empty`, or nil.
    public var preview: Bitmap? {
        registrar.access(self, keyPath: \.preview)
        return state.withLock { $0.preview }
    }

    /// What was asked for last, or nil.
    public var request: ImageRequest? { state.withLock { $0.request } }

    /// How soon the image is wanted: that of the request until it is set. Takes effect at once.
    public var priority: ImagePriority {
        get { state.withLock { $0.task?.priority ?? $0.request?.priority ?? .normal } }
        set { state.withLock { $0.task }?.priority = newValue }
    }

    /// Shows another image. The same request again changes nothing, unless it had failed or was cancelled.
    public func load(_ request: ImageRequest) {
        let id = LoadID(request, loader.memoryKey(for: request))
        let same = state.withLock { $0.id == id && ($0.phase.image != nil || $0.task != nil) }
        if same { return }
        start(request, id)
    }

    /// Asks again for what has failed or was cancelled; keeps what is shown or under way.
    public func retry() {
        let (request, id) = state.withLock { state in
            state.task == nil && state.phase.image == nil ? (state.request, state.id) : (nil, nil)
        }
        if let request, let id { start(request, id) }
    }

    /// Gives up what is under way. A picture that is shown stays.
    public func cancel() {
        let task = state.withLock { state -> ImageTask? in
            state.generation += 1
            defer { state.task = nil }
            state.watch = nil
            return state.task
        }
        task?.cancel()
        change(\.progress, where: { $0.progress != nil }, by: { $0.progress = nil })
    }

    private func start(_ request: ImageRequest, _ id: LoadID) {
        let image = loader.cachedImage(for: request, id.key)
        let task = image == nil ? loader.task(for: request) : nil
        let (old, generation) = state.withLock { state -> (ImageTask?, Int) in
            let old = state.task
            state.generation += 1
            state.request = request
            state.id = id
            state.task = task
            state.watch = nil
            return (old, state.generation)
        }
        // The new claim stands before the old one goes, so that a fetch both share is not stopped.
        old?.cancel()
        settle(image.map { .success($0) } ?? .empty)
        guard let task else { return }
        // What is known already is shown with `.empty`.
        show(task.progress.snapshot, generation)
        // Deliveries may overtake one another: each shows the latest moment.
        let watch = task.progress.observe { [weak self, deliver, progress = task.progress] _ in
            deliver { [weak self] in self?.show(progress.snapshot, generation) }
        }
        state.withLock { if $0.generation == generation { $0.watch = watch } }
        Task { [weak self, deliver] in
            let phase: ImagePhase
            do throws(ImageError) { phase = .success(try await task.image) } catch { phase = .failure(error) }
            deliver { [weak self] in self?.finish(phase, generation) }
        }
    }

    private func finish(_ phase: ImagePhase, _ generation: Int) {
        let current = state.withLock { state -> Bool in
            guard state.generation == generation else { return false }
            state.task = nil
            state.watch = nil
            return true
        }
        if current { settle(phase) }
    }

    private func show(_ snapshot: LoadProgress.Snapshot, _ generation: Int) {
        guard state.withLock({ $0.generation == generation && $0.task != nil }) else { return }
        change(\.progress, where: { $0.progress != snapshot.fraction }, by: { $0.progress = snapshot.fraction })
        change(
            \.placeholder, where: { $0.placeholder !== snapshot.placeholder },
            by: { $0.placeholder = snapshot.placeholder })
        change(
            \.placeholderColor, where: { $0.color != snapshot.color }, by: { $0.color = snapshot.color })
        change(\.preview, where: { $0.preview !== snapshot.preview }, by: { $0.preview = snapshot.preview })
    }

    /// Sets the phase and clears what travels beside it.
    private func settle(_ phase: ImagePhase) {
        change(\.progress, where: { $0.progress != nil }, by: { $0.progress = nil })
        change(\.placeholder, where: { $0.placeholder != nil }, by: { $0.placeholder = nil })
        change(\.placeholderColor, where: { $0.color != nil }, by: { $0.color = nil })
        change(\.preview, where: { $0.preview != nil }, by: { $0.preview = nil })
        change(
            \.phase, where: { !($0.phase.isEmpty && phase.isEmpty) },
            by: { $0.phase = phase })
    }

    /// Changes the state and tells the observers, unless nothing would change.
    private func change<Member>(
        _ member: KeyPath<RemoteImage, Member>, where differs: (State) -> Bool, by body: (inout State) -> Void
    ) {
        guard state.withLock({ differs($0) }) else { return }
        registrar.withMutation(of: self, keyPath: member) { state.withLock { body(&$0) } }
    }
}
