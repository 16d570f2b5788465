import Dispatch
import Foundation
import Larder

/// SIGINT and SIGTERM end a command in an orderly way: the first one asks, the second one does not wait.
final class SignalWatch: Sendable {
    private let sources: Lock<[any DispatchSourceSignal]>
    private let first = Lock<Int32?>(nil)

    /// - Parameter onFirst: called once, from a queue of its own.
    init(_ onFirst: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "larder.signals")
        sources = Lock([])
        for number in [SIGINT, SIGTERM] {
            // A dispatch source only watches: the signal's own effect must be turned off.
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [first] in
                let isFirst = first.withLock { first in
                    defer { first = first ?? number }
                    return first == nil
                }
                if isFirst { onFirst() } else { _exit(128 + number) }
            }
            source.resume()
            sources.withLock { $0.append(source) }
        }
    }

    deinit { sources.withLock { for source in $0 { source.cancel() } } }

    /// 130 or 143 where a signal has come.
    var status: ExitStatus? { first.withLock { $0.flatMap { ExitStatus(rawValue: 128 + $0) } } }
}
