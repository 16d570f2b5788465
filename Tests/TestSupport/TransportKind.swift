import Larder

/// A way to the network, for suites that run over each.
package enum TransportKind: String, Sendable, CaseIterable, CustomStringConvertible {
    /// None: a closure answers (``ScriptedTransport``).
    case scripted
    case urlsession
    #if Curl
        case curl
    #endif

    /// Those that open connections.
    package static let network = allCases.filter { $0 != .scripted }

    package var description: String { rawValue }

    /// The transport itself; nil for ``scripted``.
    package func make() -> (any Transport)? {
        switch self {
        case .scripted: return nil
        // As many at once as a test may hold back. The watchdog waits longer than where a process has the machine
        // for itself.
        case .urlsession: return URLSessionTransport(configuration: .init(transfersAtOnce: 32, stallTimeout: 4))
        #if Curl
            case .curl: return CurlTransport(configuration: .init(proxy: .none))
        #endif
        }
    }
}
