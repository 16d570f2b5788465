/// Looks at every running transfer ten times a second: deadlines of URLSession are whole seconds, and it stalls.
///
/// Runs only while there are transfers.
final class TransferWatch: Sendable {
    private struct State {
        var transfers: [ObjectIdentifier: URLSessionTransfer] = [:]
        var isRunning = false
        var stallRetries = 0
    }

    private static let interval = 0.1

    let configuration: URLSessionTransport.Configuration
    private let time: any TimeSource
    private let state = Lock(State())

    init(configuration: URLSessionTransport.Configuration, time: any TimeSource) {
        self.configuration = configuration
        self.time = time
    }

    var now: UInt64 { time.monotonic }
    var stallRetries: Int { state.withLock { $0.stallRetries } }

    func countStall() { state.withLock { $0.stallRetries += 1 } }

    func add(_ transfer: URLSessionTransfer) {
        let starts = state.withLock { state in
            state.transfers[ObjectIdentifier(transfer)] = transfer
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if starts { Task { await run() } }
    }

    func remove(_ transfer: URLSessionTransfer) {
        state.withLock { _ = $0.transfers.removeValue(forKey: ObjectIdentifier(transfer)) }
    }

    private func run() async {
        while true {
            try? await time.sleep(seconds: Self.interval)
            let transfers = state.withLock { state in
                if state.transfers.isEmpty { state.isRunning = false }
                return Array(state.transfers.values)
            }
            guard !transfers.isEmpty else { return }
            var snapshot: ProcessSockets?
            for transfer in transfers {
                transfer.check(now: time.monotonic) {
                    if let snapshot { return snapshot }
                    let taken = ProcessSockets()
                    snapshot = taken
                    return taken
                }
            }
        }
    }
}
