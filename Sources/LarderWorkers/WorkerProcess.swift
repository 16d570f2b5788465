import CPlatform
import Foundation
import Larder

/// One worker process and the pipes to it. Blocking: its reading runs on a thread of its own.
final class WorkerProcess: @unchecked Sendable {
    // Sendable: the descriptors and the pid never change; `input` is closed under `lock`.
    let pid: pid_t
    /// Where lines are written, so that no caller waits for a full pipe.
    let writer = DispatchQueue(label: "larder.worker.writer")
    private let output: Int32
    private let input: Lock<Int32?>
    private let isReaped = Lock(false)

    /// How a worker is started.
    struct Command: Sendable {
        var executable: String
        var arguments: [String]
        var environment: [String: String]
    }

    enum StartError: Error {
        case system(Int32, String)
    }

    /// Starts a process. Call it from a thread that lasts: PR_SET_PDEATHSIG fires when that thread ends.
    init(_ command: Command) throws(StartError) {
        var toWorker: [Int32] = [-1, -1]
        var fromWorker: [Int32] = [-1, -1]
        let code = larder_pipe(&toWorker)
        guard code == 0 else { throw .system(code, "pipe") }
        let second = larder_pipe(&fromWorker)
        guard second == 0 else {
            close(toWorker[0])
            close(toWorker[1])
            throw .system(second, "pipe")
        }
        var arguments = ([command.executable] + command.arguments).map { strdup($0) }
        arguments.append(nil)
        var environment = command.environment.map { strdup($0.key + "=" + $0.value) }
        environment.append(nil)
        defer { for string in arguments + environment { free(string) } }
        var pid: pid_t = 0
        let status = larder_spawn(
            command.executable, arguments, environment, toWorker[0], fromWorker[1], &pid)
        close(toWorker[0])
        close(fromWorker[1])
        guard status == 0 else {
            close(toWorker[1])
            close(fromWorker[0])
            throw .system(status, command.executable)
        }
        self.pid = pid
        output = fromWorker[0]
        input = Lock(toWorker[1])
    }

    deinit {
        close(output)
        closeInput()
    }

    /// Reads lines until the process closes its output, then waits for its end and gives its status.
    func read(_ line: ([UInt8]) -> Void) -> Int32 {
        var reader = LineReader(descriptor: output)
        while let next = reader.next() { line(next) }
        // Whoever closes its output has nothing left to do: a worker that lingers is not waited for.
        closeInput()
        return reap()
    }

    /// Writes a whole line and its newline. False where the process has gone.
    ///
    /// The lock is held over the write on purpose: it is what keeps lines whole, and only writers wait for it.
    func write(_ line: [UInt8]) -> Bool {
        input.withLock { descriptor in
            guard let descriptor else { return false }
            let bytes = line + [10]
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Glibc.write(descriptor, $0.baseAddress! + sent, bytes.count - sent)
                }
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return false }
                sent += count
            }
            return true
        }
    }

    /// Tells the worker that nothing more will come: it finishes and ends.
    func closeInput() {
        let descriptor = input.withLock { value -> Int32? in
            defer { value = nil }
            return value
        }
        if let descriptor { close(descriptor) }
    }

    /// Ends the process, unless it has ended: its number may be another's by then.
    func kill() { isReaped.withLock { if !$0 { Glibc.kill(pid, SIGKILL) } } }

    private func reap() -> Int32 {
        var status: Int32 = 0
        for step in 0... {
            let ended = isReaped.withLock { isReaped -> Bool in
                let result = waitpid(pid, &status, WNOHANG)
                isReaped = result == pid || (result < 0 && errno != EINTR)
                return isReaped
            }
            if ended { break }
            if step == 1000 { kill() }
            usleep(step < 100 ? 100 : 2000)
        }
        return status
    }
}

/// How a process ended, read from its wait status.
enum ProcessEnd: Sendable, Equatable {
    case exit(Int32)
    case signal(Int32)

    init(status: Int32) {
        let signal = status & 0x7f
        self = signal == 0 ? .exit(status >> 8 & 0xff) : .signal(signal)
    }
}
