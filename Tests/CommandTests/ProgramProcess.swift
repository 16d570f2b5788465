import Foundation
import Glibc
import Larder
import Testing

/// The program under test as a process of its own, started by a shell.
final class ProgramProcess: Sendable {
    private let pid: pid_t
    private let isReaped = Lock(false)

    /// - Parameters:
    ///   - third: a descriptor that it gets as its third.
    ///   - prelude: what the shell does first.
    ///   - redirections: of its streams; standard error leads nowhere.
    init(
        _ arguments: [String], environment: [String: String] = [:], third: Int32? = nil, prelude: String = "",
        redirections: String = ""
    ) throws {
        let program = Bundle.main.executableURL!.deletingLastPathComponent().appendingPathComponent("larder").path
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        if let third { posix_spawn_file_actions_adddup2(&actions, third, 3) }
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        // However the tests were started: nothing is ignored.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var every = sigset_t()
        sigfillset(&every)
        posix_spawnattr_setsigdefault(&attributes, &every)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        // Only the process itself knows the number that LISTEN_PID wants.
        let script = "\(prelude)\nLISTEN_PID=$$ exec \"$0\" \"$@\" \(redirections)"
        let words = ["/bin/sh", "-c", script, program] + arguments
        var settings = ["PATH=/usr/bin:/bin", "SWIFT_BACKTRACE=enable=no"]
        settings += environment.map { "\($0.key)=\($0.value)" }
        var argv = words.map { strdup($0) } + [nil]
        var envp = settings.map { strdup($0) } + [nil]
        defer { for text in argv + envp { free(text) } }
        var child: pid_t = 0
        try #require(posix_spawn(&child, "/bin/sh", &actions, &attributes, &argv, &envp) == 0)
        pid = child
    }

    deinit {
        guard !isReaped.withLock({ $0 }) else { return }
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    func signal(_ number: Int32) { kill(pid, number) }

    /// The exit status.
    func ended() async -> Int32 {
        let (pid, isReaped) = (pid, isReaped)
        return await withHandover { continuation in
            Thread {
                var status: Int32 = 0
                waitpid(pid, &status, 0)
                isReaped.withLock { $0 = true }
                continuation.resume(returning: status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f))
            }.start()
        }
    }
}
