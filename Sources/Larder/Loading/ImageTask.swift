/// One caller's claim on an image that is being loaded.
///
/// Claims on the same picture share one fetch and one decode; giving one up leaves the others alone, and giving
/// up the last one stops the work. A task that is released is given up. Safe from any thread.
public final class ImageTask: Sendable {
    package typealias Work = Coalescer<LoadID, LoadedImage>

    private enum Claim {
        case ready(Result<LoadedImage, ImageError>)
        case waiting(Work, Work.Ticket)
    }

    /// What was asked for.
    public let request: ImageRequest
    /// What travels beside the phase: progress, placeholder, previews.
    public let progress: LoadProgress
    private let claim: Claim
    private let current: SharedPriority

    /// A task whose answer is known already.
    package init(_ request: ImageRequest, ready result: Result<LoadedImage, ImageError>) {
        self.request = request
        progress = LoadProgress()
        claim = .ready(result)
        current = SharedPriority(request.priority)
    }

    package init(_ request: ImageRequest, work: Work, ticket: Work.Ticket, progress: LoadProgress) {
        self.request = request
        self.progress = progress
        claim = .waiting(work, ticket)
        current = SharedPriority(request.priority)
    }

    deinit { cancel() }

    /// The picture, once it is there.
    ///
    /// - Throws: why it could not be had; ``ImageError/cancelled(_:)`` where the claim or the waiting task was
    ///   cancelled, after which the claim is given up.
    public var image: LoadedImage {
        get async throws(ImageError) {
            switch claim {
            case .ready(let result): return try result.get()
            case .waiting(let work, let ticket):
                do throws(ImageError) { return try await work.wait(ticket) } catch { throw error.at(request.url) }
            }
        }
    }

    /// How soon it is wanted. Takes effect at once, also for work that is queued or running.
    public var priority: ImagePriority {
        get { current.value }
        set {
            current.value = newValue
            if case .waiting(let work, let ticket) = claim { work.setPriority(newValue, of: ticket) }
        }
    }

    /// Gives the claim up. Harmless after the end and more than once.
    public func cancel() {
        if case .waiting(let work, let ticket) = claim { work.leave(ticket) }
    }
}
