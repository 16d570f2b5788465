import Glibc

/// A process of this same program.
struct Child {
    let id: pid_t

    init(_ arguments: [String]) {
        var path = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &path, path.count - 1)
        precondition(count > 0)
        let program = String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var words = ([program] + arguments).map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        var id: pid_t = 0
        let code = posix_spawn(&id, program, nil, nil, words, environ)
        precondition(code == 0, "cannot start a process: \(code)")
        self.id = id
    }

    func kill() { _ = Glibc.kill(id, SIGKILL) }

    /// The exit status; -9 where it was killed.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0, errno == EINTR {}
        return status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
    }
}
