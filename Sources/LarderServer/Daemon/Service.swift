import Dispatch
import Foundation
import Larder
import LarderWorkers

/// A server's life as a process: it listens, tells the service manager, obeys signals, and ends in good order.
package struct Service: Sendable {
    package var server: ImageServer
    package var sockets: [ListenSocket]
    package var daemon: HTTPDaemon.Configuration
    package var manager: ServiceManager
    /// Seconds that requests in hand get to come to their end.
    package var drainTime: Double
    /// Reads the keys anew and reopens logs.
    package var reload: @Sendable () -> Void

    package init(
        server: ImageServer, sockets: [ListenSocket], daemon: HTTPDaemon.Configuration, manager: ServiceManager,
        drainTime: Double = 10, reload: @escaping @Sendable () -> Void
    ) {
        self.server = server
        self.sockets = sockets
        self.daemon = daemon
        self.manager = manager
        self.drainTime = drainTime
        self.reload = reload
    }

    /// Serves until SIGTERM or SIGINT; a second one does not wait for requests in hand.
    ///
    /// - Returns: the signal.
    package func run(time: any TimeSource = SystemTime()) async throws(ImageError) -> Int32 {
        let signals = Signals([SIGTERM, SIGINT, SIGHUP])
        defer { signals.stop() }
        var daemons: [HTTPDaemon] = []
        for socket in sockets {
            daemons.append(try HTTPDaemon(on: socket, handler: server, configuration: daemon, time: time))
        }
        manager.notify("READY=1\nSTATUS=Serving at \(sockets.map(\.address).joined(separator: ", "))")
        let watchdog = startWatchdog()
        defer { watchdog?.cancel() }
        for await signal in signals.stream {
            guard signal != SIGHUP else {
                manager.notify("RELOADING=1\nMONOTONIC_USEC=\(time.monotonic / 1000)")
                reload()
                manager.notify("READY=1")
                continue
            }
            manager.notify("STOPPING=1")
            let draining = Task { [daemons, drainTime] in
                for daemon in daemons { await daemon.drain(seconds: drainTime) }
            }
            let impatient = Task { [daemons] in
                for await next in signals.stream where next != SIGHUP {
                    for daemon in daemons { daemon.stopNow() }
                    return
                }
            }
            await draining.value
            impatient.cancel()
            return signal
        }
        return SIGTERM
    }

    private func startWatchdog() -> (any DispatchSourceTimer)? {
        guard let interval = manager.watchdogInterval else { return nil }
        let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "larder.watchdog"))
        timer.schedule(deadline: .now(), repeating: .microseconds(Int(clamping: interval / 2)))
        timer.setEventHandler { [manager] in manager.notify("WATCHDOG=1") }
        timer.resume()
        return timer
    }
}

/// Signals as a stream, in place of what they would do to the process.
private final class Signals: @unchecked Sendable {
    // Sendable: nothing changes after `init`, and Dispatch's sources may be used from any thread.
    let stream: AsyncStream<Int32>
    private let continuation: AsyncStream<Int32>.Continuation
    private let sources: [any DispatchSourceSignal]

    init(_ numbers: [Int32]) {
        let (stream, continuation) = AsyncStream<Int32>.makeStream(bufferingPolicy: .bufferingNewest(16))
        self.stream = stream
        self.continuation = continuation
        let queue = DispatchQueue(label: "larder.signals")
        sources = numbers.filter { !InheritedSignals.ignored.contains($0) }.map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { continuation.yield(number) }
            source.resume()
            return source
        }
    }

    func stop() {
        for source in sources { source.cancel() }
        continuation.finish()
    }
}
