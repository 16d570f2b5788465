import Glibc

/// `state/locks`: one file whose ranges are the locks of a directory. A lock belongs to a descriptor and ends with
/// it, so with its process, however that ends.
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
        /// Held by the process that fetches that key.
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
        private let descriptor: Lock<Int32>
        private let fileSystem: any FileSystem

        fileprivate init(_ descriptor: Int32, _ fileSystem: any FileSystem) {
            self.descriptor = Lock(descriptor)
            self.fileSystem = fileSystem
        }

        func release() {
            let descriptor = descriptor.withLock { descriptor in
                defer { descriptor = -1 }
                return descriptor
            }
            if descriptor >= 0 { fileSystem.close(descriptor) }
        }

        deinit { release() }
    }

    /// nil where another descriptor holds it.
    func tryHold(_ range: Range, shared: Bool = false) throws(SystemError) -> Held? {
        let fileSystem = directory.fileSystem
        guard directory.state >= 0 else { throw directory.readOnlyReason ?? SystemError(.open, EROFS) }
        let descriptor = try fileSystem.open(Self.name, in: directory.state, .updateOrCreate, permissions: 0o600)
        do throws(SystemError) {
            if try fileSystem.tryLock(descriptor, at: range.offset, count: 1, shared: shared) {
                return Held(descriptor, fileSystem)
            }
        } catch {
            fileSystem.close(descriptor)
            throw error
        }
        fileSystem.close(descriptor)
        return nil
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
