/// The phases of one image, in order: `.empty` unless memory has it, then exactly one `.success` or `.failure`,
/// then the end.
///
/// Each iteration is a claim of its own, made when the first phase is asked for. Leaving the loop gives it up.
public struct ImagePhases: AsyncSequence, Sendable {
    /// What is iterated.
    public typealias Element = ImagePhase
    /// A failure is a phase, not an error of the sequence.
    public typealias Failure = Never

    let loader: ImageLoader
    let request: ImageRequest

    /// A claim of its own, made when the first phase is asked for.
    public func makeAsyncIterator() -> Iterator { Iterator(loader: loader, request: request) }

    /// The phases of one claim. Not to be shared between tasks.
    public struct Iterator: AsyncIteratorProtocol {
        private enum State {
            case begin(ImageLoader, ImageRequest)
            case waiting(ImageTask)
            case finished
        }

        private var state: State

        init(loader: ImageLoader, request: ImageRequest) { state = .begin(loader, request) }

        /// The next phase, or nil at the end.
        public mutating func next() async -> ImagePhase? { await next(isolation: nil) }

        /// The next phase, or nil at the end, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ImagePhase? {
            switch state {
            case .begin(let loader, let request):
                if let image = loader.cachedImage(for: request) {
                    state = .finished
                    return .success(image)
                }
                state = .waiting(loader.task(for: request))
                return .empty
            case .waiting(let task):
                state = .finished
                do throws(ImageError) { return .success(try await task.image) } catch { return .failure(error) }
            case .finished:
                return nil
            }
        }
    }
}
