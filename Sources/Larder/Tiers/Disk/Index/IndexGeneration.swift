import CSQLite
import Glibc

/// Which database is the index: `state/index` names it. A new one gets a new name, under a lock that every batch
/// holds shared, so that no process writes on to one that was deleted.
struct IndexGeneration {
    private static let pointer = "index"
    private static let prefix = "index-"
    private static let suffix = ".sqlite"
    let directory: CacheDirectory
    let locks: LockFile

    /// The name in `state/index`; nil where there is none or it is no such name.
    func current() -> String? {
        guard directory.state >= 0,
            let file = try? directory.fileSystem.open(Self.pointer, in: directory.state, .read, permissions: 0)
        else { return nil }
        defer { directory.fileSystem.close(file) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count =
            (try? bytes.withMutableRawBytes { (buffer) throws(SystemError) in
                try directory.fileSystem.read(file, into: buffer, at: 0)
            }) ?? 0
        let name = String(decoding: bytes[..<count].prefix { $0 != 10 }, as: UTF8.self)
        return Self.isOurs(name) && name.hasSuffix(Self.suffix) ? name : nil
    }

    private static func isOurs(_ name: String) -> Bool {
        guard name.hasPrefix(prefix) else { return false }
        let rest = name.dropFirst(prefix.count)
        let digits = rest.prefix { $0.isHexDigit && $0.isASCII }
        return digits.count == 16 && ["", "-wal", "-shm", "-journal"].contains { rest.dropFirst(16) == suffix + $0 }
    }

    /// Opens the database of that name, or makes it. SQLite goes by paths, and another directory may take this one's
    /// place between the look at its path and the opening: then it is looked up where it is by now.
    func open(_ name: String, creates: Bool = false) throws(IndexDatabase.Failure) -> IndexDatabase {
        var failure = IndexDatabase.Failure(code: SQLITE_CANTOPEN, message: "the index has no path")
        for _ in 0..<3 {
            guard let path = path(name) else { throw failure }
            do throws(IndexDatabase.Failure) {
                if creates { makeFile(name) } else { try checkFile(name) }
                return try IndexDatabase(path: path, creates: creates, readOnly: directory.readOnlyReason != nil)
            } catch {
                failure = error
                if path == self.path(name) { throw error }
            }
        }
        throw failure
    }

    /// Made by ourselves, as nobody else's to read; what SQLite makes beside it has the same permissions.
    private func makeFile(_ name: String) {
        guard let file = try? directory.fileSystem.open(name, in: directory.state, .create, permissions: 0o600) else {
            return
        }
        directory.fileSystem.close(file)
    }

    /// That the database is not there, or is no file, is its own fault; any other is one of the moment.
    private func checkFile(_ name: String) throws(IndexDatabase.Failure) {
        let isMissing: Bool
        do throws(SystemError) {
            isMissing = try directory.fileSystem.status(of: name, in: directory.state).kind != .file
        } catch { isMissing = error.isMissing }
        if isMissing { throw IndexDatabase.Failure(code: SQLITE_CORRUPT, message: "the index is not there") }
    }

    /// Where SQLite opens it: the real path of the folder, wherever it was moved to.
    private func path(_ name: String) -> String? {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/fd/\(directory.state)", &buffer, buffer.count - 1)
        guard count > 0 else { return nil }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) + "/" + name
    }

    /// Names a new database unless another process did so since `old` was found to be of no use.
    func replace(_ old: String?) throws(SystemError) -> String {
        let held = try locks.hold(.generation, shared: false)
        defer { held.release() }
        if let now = current(), now != old { return now }
        let number = CacheKey.Hash(high: .random(in: 0 ... .max), low: 0).description.prefix(16)
        let name = Self.prefix + number + Self.suffix
        // Made before it is named: whoever reads the name finds it whole.
        do throws(IndexDatabase.Failure) { _ = try open(name, creates: true) } catch {
            removeOthers(than: old ?? "")
            throw SystemError(.write, EIO)
        }
        try point(to: name)
        removeOthers(than: name)
        return name
    }

    private func point(to name: String) throws(SystemError) {
        let fileSystem = directory.fileSystem
        let temporary = "\(Self.pointer).new"
        try? fileSystem.unlink(temporary, in: directory.state)
        let file = try fileSystem.open(temporary, in: directory.state, .create, permissions: 0o600)
        do throws(SystemError) {
            defer { fileSystem.close(file) }
            try Array("\(name)\n".utf8).withRawBytes { (bytes) throws(SystemError) in
                try fileSystem.write(file, bytes, at: 0)
            }
            try fileSystem.rename(temporary, in: directory.state, to: Self.pointer, in: directory.state)
        } catch {
            try? fileSystem.unlink(temporary, in: directory.state)
            throw error
        }
    }

    private func removeOthers(than name: String) {
        var old: [String] = []
        try? directory.fileSystem.list(directory.state) { found in
            let text = String(cString: found)
            if Self.isOurs(text), name.isEmpty || !text.hasPrefix(name) { old.append(text) }
            return old.count < 64
        }
        for name in old { try? directory.fileSystem.unlink(name, in: directory.state) }
    }
}
