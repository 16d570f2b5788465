/// Tells once of each fault of the system: a full disk is one warning, not one an image.
final class Warner: Sendable {
    private let told = Lock(Set<Int32>())
    private let tell: @Sendable (String) -> Void

    init(_ tell: @escaping @Sendable (String) -> Void) { self.tell = tell }

    func warn(_ error: SystemError, _ text: String) {
        guard told.withLock({ $0.insert(error.code).inserted }) else { return }
        tell("\(text) (\(error))")
    }

    /// For what is no system call's fault; `about` tells repetitions.
    func warn(about: Int32, _ text: String) {
        guard told.withLock({ $0.insert(-about).inserted }) else { return }
        tell(text)
    }
}
