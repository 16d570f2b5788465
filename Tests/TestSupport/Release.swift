import Larder

/// Lets one waiting task go on, once: whoever comes second does nothing.
public final class Release: Sendable {
    private enum State {
        case waits(Handover<Void>)
        case early
        case gone
    }

    private let state = Lock(State.early)

    fileprivate init() {}

    public func resume() {
        let handover = state.withLock { state -> Handover<Void>? in
            defer { state = .gone }
            if case .waits(let handover) = state { return handover }
            return nil
        }
        handover?.resume()
    }

    fileprivate func hold(_ handover: Handover<Void>) {
        let isGone = state.withLock { state in
            if case .gone = state { return true }
            state = .waits(handover)
            return false
        }
        if isGone { handover.resume() }
    }
}

/// Suspends until the release that `body` is given has been resumed, or the task was cancelled: a test whose time is over
/// then fails, and does not hang the process of its whole room.
public func withRelease(_ body: (Release) -> Void) async {
    let release = Release()
    await withTaskCancellationHandler {
        await withHandover { handover in
            release.hold(handover)
            body(release)
        }
    } onCancel: {
        release.resume()
    }
}
