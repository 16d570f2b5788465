/// Why a manifest cannot be read on: the end of the list, not of a row. Exit status 2.
package enum ManifestError: Error, Sendable, Equatable {
    /// The file or stream cannot be opened or read.
    case unreadable(String)
    /// A manifest on the web that could not be fetched.
    case notFetched(String)
    /// What was read is not what it should be; `place` says where: `line 12`, `byte 4711`.
    case malformed(String, place: String)
    /// Reading was stopped from outside.
    case stopped

    /// A sentence without the manifest's name.
    package var message: String {
        switch self {
        case .unreadable(let reason), .notFetched(let reason): reason
        case .malformed(let reason, let place): place.isEmpty ? reason : "\(place): \(reason)"
        case .stopped: "reading was stopped"
        }
    }
}
