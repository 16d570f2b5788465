import Dispatch
import Foundation
import FoundationNetworking

/// The sessions behind a ``URLSessionTransport``: one that is in use, and a fresh one whenever it has stalled.
package final class URLSessionPool: Sendable {
    private struct State {
        var current: URLSessionBox?
        var closed = false
    }

    private let state = Lock(State())
    /// Creating, resuming and cancelling a task block on URLSession's one queue, and cancelling from inside a
    /// cancellation handler can deadlock for good: all three happen here and nowhere else.
    private let control = DispatchQueue(label: "larder.urlsession.control")

    package init() {}

    /// Starts a task for the transfer on the session in use, or on a fresh one where `stalled` is in use.
    func start(_ request: URLRequest, for transfer: URLSessionTransfer, insteadOf stalled: URLSessionBox? = nil) {
        control.async { [self] in
            let (box, retired) = state.withLock { state -> (URLSessionBox?, URLSessionBox?) in
                guard !state.closed else { return (nil, nil) }
                let retired = stalled != nil && state.current === stalled ? state.current : nil
                if state.current == nil || retired != nil { state.current = URLSessionBox() }
                return (state.current, retired)
            }
            retired?.retire()
            guard let box else { return transfer.refused() }
            box.start(request, for: transfer)
        }
    }

    /// Cancels a task of a transfer and calls back when that has been done.
    func cancel(_ task: URLSessionTask, then done: @escaping @Sendable () -> Void) {
        control.async {
            task.cancel()
            done()
        }
    }

    /// No more transfers; those that run go on to their end.
    func close() {
        let current = state.withLock { state in
            state.closed = true
            defer { state.current = nil }
            return state.current
        }
        control.async { current?.retire() }
    }
}

/// One URLSession with its delegate.
package final class URLSessionBox: Sendable {
    private let session: URLSession
    private let delegate: URLSessionRouter

    init() {
        let configuration = URLSessionConfiguration.ephemeral
        // With a URLCache, a cancel soon after `resume` ends the process; its keys ignore the query, too.
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        configuration.urlCredentialStorage = nil
        // The gate bounds what runs; a lower limit here would only make URLSession queue behind it.
        configuration.httpMaximumConnectionsPerHost = 64
        // URLSession truncates timeouts to whole seconds and traps on infinity; the deadlines are our own.
        configuration.timeoutIntervalForRequest = 86_400
        delegate = URLSessionRouter()
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: InlineQueue())
    }

    /// Only on the control queue.
    func start(_ request: URLRequest, for transfer: URLSessionTransfer) {
        // A session keeps a task that never ran until the session itself ends.
        guard transfer.isWanted else { return }
        let task = session.dataTask(with: request)
        delegate.add(transfer, for: task)
        // False where it was cancelled meanwhile: such a task was never resumed and needs no cancel.
        if transfer.attached(task, on: self) { task.resume() } else { delegate.remove(task) }
    }

    /// Lets the running tasks end and then frees the session, which otherwise keeps its delegate for ever.
    func retire() { session.finishTasksAndInvalidate() }
}

/// Calls the delegate where URLSession is, on its own serial queue and so in order, in place of an operation and the
/// waking of a thread for every 16 KiB.
///
/// The delegate may therefore take leaf locks and wake tasks, but call nothing that waits for URLSession's queue
/// (creating, resuming, suspending a task): that would wait for itself.
private final class InlineQueue: OperationQueue, @unchecked Sendable {
    // Sendable: without any state beside that of its superclass, which is.
    override init() {
        super.init()
        maxConcurrentOperationCount = 1
    }

    override func addOperation(_ block: @escaping @Sendable () -> Void) { block() }
}

/// The delegate of a session: hands each callback on to the transfer it is for.
final class URLSessionRouter: NSObject, URLSessionDataDelegate, Sendable {
    private let transfers = Lock([Int: URLSessionTransfer]())

    func add(_ transfer: URLSessionTransfer, for task: URLSessionTask) {
        transfers.withLock { $0[task.taskIdentifier] = transfer }
    }

    func remove(_ task: URLSessionTask) {
        transfers.withLock { _ = $0.removeValue(forKey: task.taskIdentifier) }
    }

    private func transfer(_ task: URLSessionTask) -> URLSessionTransfer? {
        transfers.withLock { $0[task.taskIdentifier] }
    }

    func urlSession(
        _: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        // The disposition `.cancel` is ignored: a transfer that is not wanted is cancelled through its task.
        transfer(dataTask)?.received(response, of: dataTask)
        completionHandler(.allow)
    }

    func urlSession(_: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        transfer(dataTask)?.received(data, of: dataTask)
    }

    func urlSession(
        _: URLSession, task: URLSessionTask, willPerformHTTPRedirection _: HTTPURLResponse, newRequest _: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        // URLSession resolves relative locations wrongly, follows `file:` and sends credentials to other hosts.
        transfer(task)?.touch()
        completionHandler(nil)
    }

    func urlSession(
        _: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        // Only for 401 on Linux, never for TLS. Default handling of a Basic challenge hangs and of a Digest challenge
        // ends the process. The response has arrived whole by now, and the task, answered or not, is of no more use.
        transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.answeredByChallenge(task)
    }

    func urlSession(_: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        transfers.withLock { $0.removeValue(forKey: task.taskIdentifier) }?.completed(task, error)
    }
}
