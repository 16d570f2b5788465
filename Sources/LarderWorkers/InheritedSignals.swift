import Glibc

/// What this process was told about signals when it was started.
package enum InheritedSignals {
    /// Those that end a program by hand and that it was told to ignore, as a script's jobs in the background are told of
    /// Ctrl-C: they are left so. Ask before you change what a signal does.
    package static let ignored: Set<Int32> = Set([SIGINT, SIGTERM].filter { isIgnored($0) })

    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        // SIG_IGN is the address 1, and functions cannot be compared.
        return sigaction(number, nil, &action) == 0
            && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
    }
}
