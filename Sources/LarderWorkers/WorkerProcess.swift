import CPlatform
import Foundation
import Larder

/// One worker process and the pipes to it. Blocking: its reading runs on a thread of its own.
final class WorkerProcess: Sendable {
    let pid: pid_t
    private let output: Int32
    private let input: LineWriter
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
        input = LineWriter(toWorker[1])
    }

    deinit { close(output) }

    /// Reads lines, as many as come together, until the process closes its output; then waits for its end and gives
    /// its status.
    ///
    /// - Parameters:
    ///   - tick: seconds.
    ///   - whileSilent: called each time that a tick passes in which nothing comes.
    func read(tick: Double, whileSilent: () -> Void, take: ([[UInt8]]) -> Void) -> Int32 {
        var reader = LineReader(descriptor: output)
        while true {
            var event = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            let ready = poll(&event, 1, Int32(min(tick * 1000, 1e9)))
            if ready == 0 { whileSilent() }
            if ready == 0 || ready < 0 && errno == EINTR { continue }
            guard let lines = reader.next() else { break }
            take(lines)
        }
        // Whoever closes its output has nothing left to do: a worker that lingers is not waited for.
        closeInput()
        return reap()
    }

    /// Sends a line, some time soon. A worker that has died is noticed by its reader.
    func write(_ line: [UInt8]) { input.write(line) }

    /// Tells the worker that nothing more will come: it finishes and ends.
    func closeInput() { input.close() }

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
