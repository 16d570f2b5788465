import Foundation
import FoundationNetworking

/// URLSession alone, by its delegate, nothing stored: the ceiling of the platform.
final class Bare: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable: every mutable field is touched on the delegate queue only, which runs one operation at a time.
    private let job: Job
    private var session: URLSession?
    private var started = 0
    private var outcome = Outcome()
    private var done = 0
    private let finished = DispatchSemaphore(value: 0)

    init(_ job: Job) { self.job = job }

    func run() -> Outcome {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.httpMaximumConnectionsPerHost = job.width
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        session = URLSession(configuration: configuration, delegate: self, delegateQueue: queue)
        queue.addOperation { [self] in for _ in 0..<min(job.width, job.count) { start() } }
        finished.wait()
        return outcome
    }

    private func start() {
        session?.dataTask(with: job.url(started)).resume()
        started += 1
    }

    func urlSession(_: URLSession, dataTask _: URLSessionDataTask, didReceive data: Data) {
        outcome.bytes += data.count
    }

    func urlSession(_: URLSession, task _: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if error != nil { outcome.failed += 1 }
        done += 1
        if done == job.count { finished.signal() } else if started < job.count { start() }
    }
}
