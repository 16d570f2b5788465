#if Curl
    import CCurl
    import CCurlShim
    import Foundation

    /// The thread that runs all transfers of a ``CurlTransport``, over one multi handle.
    ///
    /// Others leave commands, and wake the thread only where it sleeps: many requests at once cost one wakeup.
    final class CurlLoop: @unchecked Sendable {
        // Sendable: `shared` is a lock; `configuration` never changes; all else is touched on
        // the loop's thread only, and one such thread hands over to the next through `shared`.
        enum Command {
            case start(CurlTransfer)
            case stop(CurlTransfer)
            case resume(CurlTransfer)
        }

        private struct Shared {
            var commands: [Command] = []
            /// Set while a thread runs.
            var isRunning = false
            /// Set while the thread may sleep in `multi` and nobody has woken it.
            var sleeping: UnsafeMutableRawPointer?
            var isClosed = false
        }

        let configuration: CurlTransport.Configuration
        private let shared = Lock(Shared())

        // MARK: The loop's thread only
        private(set) var now: UInt64 = 0
        private var running: [CurlTransfer] = []
        private var touched: [CurlTransfer] = []
        private var idleHandles: [CurlHandle] = []
        private var nextDeadline = UInt64.max
        private var cacheSize = 0

        init(_ configuration: CurlTransport.Configuration) {
            self.configuration = configuration
        }

        var isRunning: Bool { shared.withLock { $0.isRunning } }

        // MARK: - From any thread

        func submit(_ command: Command) {
            let starts = shared.withLock { shared in
                shared.commands.append(command)
                wake(&shared)
                defer { shared.isRunning = true }
                return !shared.isRunning
            }
            guard starts else { return }
            let thread = Thread { self.run() }
            thread.stackSize = 1 << 20
            thread.start()
        }

        /// Ends the thread once no transfer runs.
        func close() {
            shared.withLock { shared in
                shared.isClosed = true
                wake(&shared)
            }
        }

        /// Under the lock, so that the multi handle cannot go meanwhile: it writes one byte and calls nobody.
        private func wake(_ shared: inout Shared) {
            guard let multi = shared.sleeping else { return }
            shared.sleeping = nil
            curl_multi_wakeup(multi)
        }

        // MARK: - The thread

        private func run() {
            larder_curl_name_thread("larder-curl")
            // OpenSSL writes to sockets without MSG_NOSIGNAL. Threads of libcurl's resolver inherit the mask.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGPIPE)
            pthread_sigmask(SIG_BLOCK, &signals, nil)
            repeat {
                serve()
            } while shared.withLock { shared in
                // Commands may have come while the last connections were closed.
                shared.isRunning = !shared.commands.isEmpty
                return shared.isRunning
            }
        }

        /// One multi handle from its making to its end.
        private func serve() {
            guard CurlLibrary.isReady, let multi = curl_multi_init() else {
                for case .start(let transfer) in takeCommands() {
                    transfer.end(.unreachable(.init("libcurl cannot be initialised", isTransient: false)))
                }
                return
            }
            cacheSize = 16
            configure(multi)
            let heap = larder_curl_keep_heap(Self.keptHeap)
            repeat {
                round(multi)
            } while sleep(multi)
            for handle in idleHandles { handle.close() }
            idleHandles = []
            curl_multi_cleanup(multi)
            free(heap)
        }

        /// What the buffers of some twenty transfers take. Without it 8,000 images of 100 KB cost 100,000 page faults.
        private static let keptHeap = 8 << 20

        private func takeCommands() -> [Command] {
            shared.withLock { shared in
                defer { shared.commands = [] }
                return shared.commands
            }
        }

        private func round(_ multi: UnsafeMutableRawPointer) {
            now = DispatchTime.now().uptimeNanoseconds
            for command in takeCommands() {
                switch command {
                case .start(let transfer): start(transfer, multi)
                case .stop(let transfer):
                    remove(transfer, multi)?.end(.cancelled(.init("the transfer was cancelled")))
                case .resume(let transfer): transfer.resume()
                }
            }
            var count: Int32 = 0
            curl_multi_perform(multi, &count)
            var result = CURLE_OK
            while let easy = larder_curl_multi_next_ended(multi, &result) {
                guard let context = larder_curl_easy_context(easy) else { continue }
                let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
                let message = transfer.handle?.message ?? ""
                remove(transfer, multi)?.end(transfer.error(for: result, message))
            }
            for transfer in touched {
                transfer.isTouched = false
                transfer.deliver()
            }
            touched.removeAll(keepingCapacity: true)
            checkDeadlines(multi)
        }

        /// Sleeps until something happens. False where the thread should end.
        private func sleep(_ multi: UnsafeMutableRawPointer) -> Bool {
            let isIdle = running.isEmpty
            enum Next { case goOn, sleep, end }
            let next: Next = shared.withLock { shared in
                guard shared.commands.isEmpty else { return .goOn }
                if shared.isClosed && isIdle { return .end }
                shared.sleeping = multi
                return .sleep
            }
            guard next == .sleep else { return next == .goOn }
            let until = isIdle ? now.adding(seconds: configuration.idleLifetime) : nextDeadline
            // Rounded up, so that it does not wake just before.
            let wait = until > now ? (until - now) / 1_000_000 + 1 : 0
            curl_multi_poll(multi, nil, 0, Int32(min(wait, 3_600_000)), nil)
            let isOver = isIdle && DispatchTime.now().uptimeNanoseconds >= until
            return shared.withLock { shared in
                shared.sleeping = nil
                return !isOver || !shared.commands.isEmpty
            }
        }

        private func checkDeadlines(_ multi: UnsafeMutableRawPointer) {
            guard nextDeadline <= now else { return }
            nextDeadline = .max
            var late: [(CurlTransfer, ImageError.Deadline)] = []
            for transfer in running {
                guard let deadline = transfer.deadline(countingFromStart: countsQueue) else { continue }
                if deadline.time <= now { late.append((transfer, deadline.which)) } else { expect(deadline.time) }
            }
            for (transfer, which) in late {
                let seconds = which == .idle ? transfer.request.deadlines.idle : transfer.request.deadlines.connect
                let detail = which == .idle ? "no byte for \(seconds) s" : "no connection within \(seconds) s"
                remove(transfer, multi)?.end(.timedOut(which, .init(detail, url: transfer.url)))
            }
        }

        /// Where connections are limited, transfers wait in libcurl's line and its own clock starts at their turn.
        /// Otherwise they wait only for another's connection (HTTP/2), and that must not take for ever.
        private var countsQueue: Bool { configuration.maxConnectionsPerHost == nil }

        // MARK: - For transfers, on the thread

        func touch(_ transfer: CurlTransfer) {
            guard !transfer.isTouched else { return }
            transfer.isTouched = true
            touched.append(transfer)
        }

        /// A deadline to look at by then.
        func expect(_ time: UInt64?) {
            if let time { nextDeadline = min(nextDeadline, time) }
        }

        // MARK: - Handles

        private func start(_ transfer: CurlTransfer, _ multi: UnsafeMutableRawPointer) {
            guard !transfer.isCancelled else { return }
            guard let handle = idleHandles.popLast() ?? CurlHandle(configuration) else {
                return transfer.end(.unreachable(.init("libcurl gives no handle")))
            }
            // The list holds the transfer, and so the context of the callbacks, until it is out of the multi handle.
            transfer.index = running.count
            transfer.handle = handle
            transfer.begin(at: now)
            running.append(transfer)
            if running.count > cacheSize {
                cacheSize *= 2
                configure(multi)
            }
            var result = handle.prepare(for: transfer)
            if result == CURLE_OK, curl_multi_add_handle(multi, handle.easy) != CURLM_OK { result = CURLE_FAILED_INIT }
            guard result == CURLE_OK else {
                remove(transfer, multi)?.end(transfer.error(for: result, handle.message))
                return
            }
            expect(transfer.deadline(countingFromStart: countsQueue)?.time)
        }

        /// Takes a transfer out, with its handle; nil where it is out already.
        private func remove(_ transfer: CurlTransfer, _ multi: UnsafeMutableRawPointer) -> CurlTransfer? {
            guard let handle = transfer.handle else { return nil }
            curl_multi_remove_handle(multi, handle.easy)
            handle.release()
            transfer.handle = nil
            idleHandles.append(handle)
            let last = running.removeLast()
            if last !== transfer {
                running[transfer.index] = last
                last.index = transfer.index
            }
            return transfer
        }

        private func configure(_ multi: UnsafeMutableRawPointer) {
            _ = larder_curl_multi_configure(multi, configuration.maxConnectionsPerHost ?? 0, cacheSize)
        }
    }
#endif
