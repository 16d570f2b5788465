import Dispatch
import Foundation
import Larder
import LarderWorkers

/// SIGINT and SIGTERM end a command in an orderly way: the first one asks, the second one does not wait.
/// One that was ignored when the program was started stays ignored.
final class SignalWatch: Sendable {
    private let sources = Lock<[any DispatchSourceSignal]>([])
    private let first = Lock<Int32?>(nil)
    private let onFirst: @Sendable () -> Void
    private let onSecond: @Sendable (_ status: Int32) -> Void

    /// - Parameters:
    ///   - onSecond: ends the process with a status, at once.
    ///   - onFirst: called once, from a queue of its own.
    init(
        _ signals: [Int32] = [SIGINT, SIGTERM], onSecond: @escaping @Sendable (_ status: Int32) -> Void = { _exit($0) },
        onFirst: @escaping @Sendable () -> Void
    ) {
        self.onFirst = onFirst
        self.onSecond = onSecond
        let queue = DispatchQueue(label: "larder.signals")
        for number in signals where !InheritedSignals.ignored.contains(number) {
            // A dispatch source only watches: the signal's own effect must be turned off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [weak self] in self?.receive(number) }
            source.resume()
            sources.withLock { $0.append(source) }
        }
    }

    deinit { sources.withLock { for source in $0 { source.cancel() } } }

    /// 130 or 143 where a signal has come: by the first one.
    var status: ExitStatus? { first.withLock { $0.flatMap { ExitStatus(rawValue: 128 + $0) } } }

    /// What a signal does that has come.
    func receive(_ number: Int32) {
        let isFirst = first.withLock { first in
            defer { first = first ?? number }
            return first == nil
        }
        if isFirst { onFirst() } else { onSecond(128 + number) }
    }
}
