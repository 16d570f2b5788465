import Glibc

/// `state/locks`: one file whose ranges are the locks of a directory. A lock belongs to a descriptor and ends with
/// it at the latest, so with its process, however that ends.
final class LockFile: Sendable {
    let directory: CacheDirectory
    private static let name = "locks"

    enum Range {
        /// Shared while a batch is written to the index, exclusive while a new index is named.
        case generation
        /// Held by the process that compares index and files.
        case reconcile
        /// Held as long as a process lives that makes temporary files with that number in their names.
        case owner(UInt64)
        /// Held by the process that fetches that key: see ``tryHold(key:)``.
        case key(CacheKey.Hash)

        fileprivate var offset: Int64 {
            switch self {
            case .generation: 0
            case .reconcile: 1
            // Three quarters of the range are keys' and owners': 61 bits of a hash each.
            case .owner(let number): 1 << 61 | Int64(number >> 3)
            case .key(let hash): 1 << 62 | Int64(hash.high >> 3)
            }
        }
    }

    init(directory: CacheDirectory) { self.directory = directory }

    /// A lock that is held until it is released or dropped.
    final class Held: Sendable {
        private let end: Lock<(@Sendable () -> Void)?>

        fileprivate init(_ end: @escaping @Sendable () -> Void) { self.end = Lock(end) }

        func release() { end.withLock { $0.take() }?() }

        deinit { release() }
    }

    /// nil where another descriptor holds it.
    func tryHold(_ range: Range, shared: Bool = false) throws(SystemError) -> Held? {
        let fileSystem = directory.fileSystem
        let descriptor = try open()
        do throws(SystemError) {
            if try fileSystem.tryLock(descriptor, at: range.offset, count: 1, shared: shared) {
                return Held { fileSystem.close(descriptor) }
            }
        } catch {
            fileSystem.close(descriptor)
            throw error
        }
        fileSystem.close(descriptor)
        return nil
    }

    private func open() throws(SystemError) -> Int32 {
        guard directory.state >= 0 else { throw directory.readOnlyReason ?? SystemError(.open, EROFS) }
        return try directory.fileSystem.open(Self.name, in: directory.state, .updateOrCreate, permissions: 0o600)
    }

    // MARK: Keys

    /// A descriptor that the locks of many keys share: one for each image would cost two calls more. To its own process
    /// a shared descriptor locks nothing; the set does.
    private final class Keys: Sendable {
        let descriptor: Int32
        let fileSystem: any FileSystem
        private let held = Lock(Set<Int64>())
        private let onSpent: @Sendable () -> Void

        /// - Parameter onSpent: called where a lock could not be given back: it ends with the descriptor, which must be
        ///   let go of.
        init(_ descriptor: Int32, _ fileSystem: any FileSystem, onSpent: @escaping @Sendable () -> Void) {
            self.descriptor = descriptor
            self.fileSystem = fileSystem
            self.onSpent = onSpent
        }

        deinit { fileSystem.close(descriptor) }

        func tryHold(_ offset: Int64) throws(SystemError) -> Held? {
            guard held.withLock({ $0.insert(offset).inserted }) else { return nil }
            do throws(SystemError) {
                if try fileSystem.tryLock(descriptor, at: offset, count: 1, shared: false) {
                    return Held { self.release(offset) }
                }
            } catch {
                held.withLock { _ = $0.remove(offset) }
                throw error
            }
            held.withLock { _ = $0.remove(offset) }
            return nil
        }

        private func release(_ offset: Int64) {
            // Unlocked first: who finds it free in the set must find it free in the file.
            guard fileSystem.unlock(descriptor, at: offset, count: 1) else { return onSpent() }
            held.withLock { _ = $0.remove(offset) }
        }
    }

    private let keys = Lock<Keys?>(nil)

    /// The right to fetch a key; nil where somebody else has it, in this process or another.
    func tryHold(key hash: CacheKey.Hash) throws(SystemError) -> Held? {
        try sharedKeys().tryHold(Range.key(hash).offset)
    }

    private func sharedKeys() throws(SystemError) -> Keys {
        // Of a file that was deleted or replaced a lock keeps nobody out.
        if let keys = keys.withLock({ $0 }), try directory.fileSystem.status(of: keys.descriptor).links > 0 {
            return keys
        }
        let new = Keys(try open(), directory.fileSystem) { [weak self] in self?.keys.withLock { $0 = nil } }
        keys.withLock { $0 = new }
        return new
    }

    /// Waits up to five seconds: these are held for a batch at most, and not for ever by a stopped process.
    func hold(_ range: Range, shared: Bool) throws(SystemError) -> Held {
        for _ in 0..<2500 {
            if let held = try tryHold(range, shared: shared) { return held }
            usleep(2000)
        }
        throw SystemError(.lock, EAGAIN)
    }
}
