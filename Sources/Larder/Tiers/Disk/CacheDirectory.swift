import Glibc

/// An open cache directory: checked to be ours, and reached through its descriptor from then on, so that one put
/// in its place is noticed and never taken for it.
final class CacheDirectory: Sendable {
    let fileSystem: any FileSystem
    let root: Int32
    /// `tmp/` and `state/`; -1 where they cannot be had, and then nothing is stored.
    let temporary: Int32
    let state: Int32
    let identity: FileStatus
    let blockSize: Int64
    /// Why nothing can be stored, or nil.
    let readOnlyReason: SystemError?

    static let marker = ".larder"
    static let tag = "CACHEDIR.TAG"
    private static let markerText = "larder cache directory, layout "
    static let layout = 1
    private static let tagText = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This file is a cache directory tag created by larder.
        # For information about cache directory tags, see https://bford.info/cachedir/

        """
    /// What may lie in a directory that is otherwise empty.
    private static let harmless: Set<String> = [
        "README.md", "README", ".gitignore", ".gitkeep", ".keep", ".DS_Store", "lost+found",
    ]

    private init(
        fileSystem: any FileSystem, root: Int32, temporary: Int32, state: Int32, identity: FileStatus,
        blockSize: Int64, readOnlyReason: SystemError?
    ) {
        self.fileSystem = fileSystem
        self.root = root
        self.temporary = temporary
        self.state = state
        self.identity = identity
        self.blockSize = blockSize
        self.readOnlyReason = readOnlyReason
    }

    deinit {
        for descriptor in [root, temporary, state] where descriptor >= 0 { fileSystem.close(descriptor) }
    }

    /// Opens the directory, makes it where it is missing, and marks it.
    ///
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where it is not ours to use: another owner, other files in
    ///   it, a newer layout, or no way to make it.
    static func open(
        _ path: String, _ configuration: DiskTierConfiguration, _ fileSystem: any FileSystem
    ) throws(ImageError) -> CacheDirectory {
        let root = try openRoot(path, configuration, fileSystem)
        var kept = false
        defer { if !kept { fileSystem.close(root) } }
        let identity: FileStatus
        do throws(SystemError) { identity = try fileSystem.status(of: root) } catch {
            throw unavailable("cannot look at the cache directory \(path) (\(error))")
        }
        guard identity.owner == geteuid() else {
            throw unavailable(
                "the cache directory \(path) belongs to another user (uid \(identity.owner)); choose another one")
        }
        var readOnlyReason = try mark(root, path, configuration, fileSystem)
        var temporary: Int32 = -1
        var state: Int32 = -1
        if readOnlyReason == nil {
            do throws(SystemError) {
                temporary = try folder("tmp", in: root, fileSystem, creates: true)
                state = try folder("state", in: root, fileSystem, creates: true)
            } catch {
                if temporary >= 0 { fileSystem.close(temporary) }
                temporary = -1
                readOnlyReason = error
            }
        } else {
            // Read-only: an index may still be there to read.
            state = (try? folder("state", in: root, fileSystem, creates: false)) ?? -1
        }
        let block = (try? fileSystem.blockSize(root)) ?? 4096
        kept = true
        return CacheDirectory(
            fileSystem: fileSystem, root: root, temporary: temporary, state: state, identity: identity,
            blockSize: min(max(block, 512), 1 << 20), readOnlyReason: readOnlyReason)
    }

    private static func openRoot(
        _ path: String, _ configuration: DiskTierConfiguration, _ fileSystem: any FileSystem
    ) throws(ImageError) -> Int32 {
        guard !path.isEmpty, !path.utf8.contains(0) else { throw unavailable("the cache directory has no name") }
        do throws(SystemError) {
            do throws(SystemError) {
                return try fileSystem.openRoot(path)
            } catch {
                guard error.code == ENOENT, configuration.creates else { throw error }
                try fileSystem.makeRoot(path, permissions: 0o700)
                return try fileSystem.openRoot(path)
            }
        } catch {
            throw unavailable("cannot open the cache directory \(path) (\(error))")
        }
    }

    /// Checks the marker and sets it where it may; gives why nothing can be written.
    private static func mark(
        _ root: Int32, _ path: String, _ configuration: DiskTierConfiguration, _ fileSystem: any FileSystem
    ) throws(ImageError) -> SystemError? {
        if try isMarked(root, path, fileSystem) {
            return writable(root, fileSystem)
        }
        guard configuration.marks else {
            throw unavailable("\(path) is not a cache directory, or nothing was ever stored in it")
        }
        if !configuration.adopts {
            var foreign: String?
            do throws(SystemError) {
                try fileSystem.list(root) { name in
                    let name = String(cString: name)
                    if !harmless.contains(name) { foreign = name }
                    return foreign == nil
                }
            } catch {
                throw unavailable("cannot list the directory \(path) (\(error))")
            }
            if let foreign {
                // Another process may have marked it between the two looks.
                if try isMarked(root, path, fileSystem) { return nil }
                throw unavailable(
                    "\(path) holds other files (\(foreign)) and is not a cache directory of ours; "
                        + "name an empty or new one")
            }
        }
        do throws(SystemError) {
            try create(marker, "\(markerText)\(layout)\n", in: root, fileSystem)
            try create(tag, tagText, in: root, fileSystem)
            return nil
        } catch {
            return error
        }
    }

    private static func isMarked(
        _ root: Int32, _ path: String, _ fileSystem: any FileSystem
    ) throws(ImageError) -> Bool {
        do throws(SystemError) {
            let file = try fileSystem.open(marker, in: root, .read, permissions: 0)
            defer { fileSystem.close(file) }
            var text = [UInt8](repeating: 0, count: 64)
            var count = 0
            try text.withMutableRawBytes { (buffer) throws(SystemError) in
                count = try fileSystem.read(file, into: buffer, at: 0)
            }
            let line = String(decoding: text[..<count].prefix { $0 != 10 }, as: UTF8.self)
            // An empty marker: its maker was killed between making and writing it.
            guard count > 0 else { return true }
            guard line.hasPrefix(markerText), let found = Int(line.dropFirst(markerText.count)) else {
                throw SystemError(.read, EINVAL)
            }
            if found > layout {
                throw SystemError(.read, ENOTSUP)
            }
            return true
        } catch {
            if error.isMissing { return false }
            if error.code == ENOTSUP {
                throw unavailable("\(path) was made by a newer version of larder; use that, or another directory")
            }
            throw unavailable("\(path)/\(marker) cannot be read as the marker of a cache directory (\(error))")
        }
    }

    /// nil where a file can be made in the directory, otherwise why not. Nothing is left behind.
    private static func writable(_ root: Int32, _ fileSystem: any FileSystem) -> SystemError? {
        do throws(SystemError) {
            let temporary = try folder("tmp", in: root, fileSystem, creates: true)
            defer { fileSystem.close(temporary) }
            try fileSystem.checkWritable(temporary)
            return nil
        } catch {
            return error
        }
    }

    private static func create(
        _ name: String, _ text: String, in root: Int32, _ fileSystem: any FileSystem
    ) throws(SystemError) {
        do throws(SystemError) {
            let file = try fileSystem.open(name, in: root, .create, permissions: 0o600)
            defer { fileSystem.close(file) }
            let bytes = Array(text.utf8)
            try bytes.withRawBytes { (bytes) throws(SystemError) in try fileSystem.write(file, bytes, at: 0) }
        } catch {
            if error.code != EEXIST { throw error }
        }
    }

    private static func folder(
        _ name: String, in root: Int32, _ fileSystem: any FileSystem, creates: Bool
    ) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            return try fileSystem.open(name, in: root, .directory, permissions: 0)
        } catch {
            guard error.code == ENOENT, creates else { throw error }
            do throws(SystemError) {
                try fileSystem.makeDirectory(name, in: root, permissions: 0o700)
            } catch {
                if error.code != EEXIST { throw error }
            }
            return try fileSystem.open(name, in: root, .directory, permissions: 0)
        }
    }

    /// Whether `tmp/` and `state/` are still those that were opened: somebody may have emptied the directory.
    func hasItsFolders() throws(SystemError) -> Bool {
        for (name, descriptor) in [("tmp", temporary), ("state", state)] where descriptor >= 0 {
            guard try fileSystem.status(of: name, in: root).isSame(as: fileSystem.status(of: descriptor)) else {
                return false
            }
        }
        return true
    }

    /// Opens a folder below the root; the caller closes it.
    func openFolder(_ name: String, creates: Bool) throws(SystemError) -> Int32 {
        try Self.folder(name, in: root, fileSystem, creates: creates)
    }

    /// Runs `body` with the entry's open folder and its name in it.
    func withFolder<Result>(
        of hash: CacheKey.Hash, creates: Bool,
        _ body: (_ folder: Int32, _ name: UnsafePointer<CChar>) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        try EntryName.withParts(hash) { (folder, name) throws(SystemError) in
            let descriptor: Int32
            do throws(SystemError) {
                descriptor = try fileSystem.open(folder, in: root, .directory, permissions: 0)
            } catch {
                guard error.code == ENOENT, creates else { throw error }
                descriptor = try openFolder(String(cString: folder), creates: true)
            }
            defer { fileSystem.close(descriptor) }
            return try body(descriptor, name)
        }
    }

    /// Bytes on disk of a file of that size.
    func bytesOnDisk(_ size: Int64) -> Int64 {
        let (sum, overflow) = max(size, 0).addingReportingOverflow(blockSize - 1)
        return overflow ? Int64.max / 2 : sum / blockSize * blockSize
    }

    static func unavailable(_ detail: String) -> ImageError { .cacheUnavailable(.init(detail)) }
}
