import CPlatform
import Glibc

/// The system's own calls.
package struct PosixFileSystem: FileSystem {
    package init() {}

    package func openRoot(_ path: String) throws(SystemError) -> Int32 {
        try check(.openRoot) { larder_open(path, O_RDONLY | O_DIRECTORY, 0) }
    }

    package func makeRoot(_ path: String, permissions: UInt32) throws(SystemError) {
        // From the top down; what exists already is passed over.
        var end = path.startIndex
        while end != path.endIndex {
            end = path[path.index(after: end)...].firstIndex(of: "/") ?? path.endIndex
            if mkdir(String(path[..<end]), permissions) != 0, errno != EEXIST {
                let code = errno
                // A parent that may not be written to but exists answers EROFS or EACCES before EEXIST.
                var status = stat()
                if stat(String(path[..<end]), &status) == 0 { continue }
                throw SystemError(.makeRoot, code)
            }
        }
    }

    package func open(
        _ name: UnsafePointer<CChar>, in directory: Int32, _ purpose: OpenPurpose, permissions: UInt32
    ) throws(SystemError) -> Int32 {
        let flags: Int32 =
            switch purpose {
            // O_NONBLOCK: a FIFO in an entry's place must not hold us up.
            case .read: O_RDONLY | O_NONBLOCK
            case .update: O_RDWR | O_NONBLOCK
            case .updateOrCreate: O_RDWR | O_CREAT | O_NONBLOCK
            case .create: O_RDWR | O_CREAT | O_EXCL
            case .directory: O_RDONLY | O_DIRECTORY
            }
        return try check(.open) { larder_open_beneath(directory, name, flags, permissions) }
    }

    package func close(_ descriptor: Int32) { _ = larder_close(descriptor) }

    package func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try check(.status) { fstat(descriptor, &status) }
        return FileStatus(status)
    }

    package func status(of name: UnsafePointer<CChar>, in directory: Int32) throws(SystemError) -> FileStatus {
        var status = stat()
        _ = try check(.statusByName) { fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) }
        return FileStatus(status)
    }

    package func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemError) -> Int {
        var done = 0
        while done < buffer.count, let base = buffer.baseAddress {
            let count = try check(.read) {
                larder_read(descriptor, base + done, buffer.count - done, offset + Int64(done))
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    package func openAndRead(
        _ name: UnsafePointer<CChar>, in directory: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> (descriptor: Int32, count: Int) {
        while true {
            var count = 0
            let descriptor = larder_open_and_read(directory, name, buffer.baseAddress, buffer.count, &count)
            if descriptor >= 0 { return (descriptor, count) }
            let code = errno
            if code != EINTR { throw SystemError(count < 0 ? .read : .open, code) }
        }
    }

    package func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var done = 0
        while done < bytes.count, let base = bytes.baseAddress {
            done += try check(.write) { pwrite(descriptor, base + done, bytes.count - done, off_t(offset) + done) }
        }
    }

    package func copy(
        _ source: Int32, at offset: Int64, to target: Int32, at targetOffset: Int64, count: Int
    ) throws(SystemError) -> Int {
        try check(.copy) { larder_copy_file_range(source, offset, target, targetOffset, count) }
    }

    package func truncate(_ descriptor: Int32, to length: Int64) throws(SystemError) {
        _ = try check(.truncate) { ftruncate(descriptor, off_t(length)) }
    }

    package func changeMode(_ descriptor: Int32, _ permissions: UInt32) throws(SystemError) {
        _ = try check(.changeMode) { fchmod(descriptor, permissions) }
    }

    package func rename(
        _ name: UnsafePointer<CChar>, in directory: Int32, to newName: UnsafePointer<CChar>, in newDirectory: Int32
    ) throws(SystemError) {
        _ = try check(.rename) { renameat(directory, name, newDirectory, newName) }
    }

    package func unlink(_ name: UnsafePointer<CChar>, in directory: Int32) throws(SystemError) {
        _ = try check(.unlink) { unlinkat(directory, name, 0) }
    }

    package func makeDirectory(
        _ name: UnsafePointer<CChar>, in directory: Int32, permissions: UInt32
    ) throws(SystemError) {
        _ = try check(.makeDirectory) { mkdirat(directory, name, permissions) }
    }

    package func touch(_ descriptor: Int32, at time: Timestamp) throws(SystemError) {
        let (seconds, rest) = time.milliseconds.quotientAndRemainder(dividingBy: 1000)
        let part = rest < 0 ? (seconds - 1, rest + 1000) : (seconds, rest)
        let spec = timespec(tv_sec: Int(part.0), tv_nsec: Int(part.1) * 1_000_000)
        _ = try check(.touch) {
            withUnsafePointer(to: (spec, spec)) { pointer in
                pointer.withMemoryRebound(to: timespec.self, capacity: 2) { futimens(descriptor, $0) }
            }
        }
    }

    package func checkWritable(_ directory: Int32) throws(SystemError) {
        _ = try check(.access) { faccessat(directory, ".", W_OK | X_OK, 0) }
    }

    package func list(_ directory: Int32, _ body: (UnsafePointer<CChar>) -> Bool) throws(SystemError) {
        // A descriptor of its own: a listing has a position, and closedir closes what it was given.
        let own = try check(.list) { larder_open_beneath(directory, ".", O_RDONLY | O_DIRECTORY, 0) }
        guard let stream = fdopendir(own) else {
            let code = errno
            _ = Glibc.close(own)
            throw SystemError(.list, code)
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                if errno != 0 { throw SystemError(.list, errno) }
                return
            }
            let goesOn = withUnsafePointer(to: &entry.pointee.d_name) { field in
                field.withMemoryRebound(to: CChar.self, capacity: 256) { name in
                    if name[0] == 46, name[1] == 0 || (name[1] == 46 && name[2] == 0) { return true }
                    return body(name)
                }
            }
            if !goesOn { return }
        }
    }

    package func tryLock(
        _ descriptor: Int32, at offset: Int64, count: Int64, shared: Bool
    ) throws(SystemError) -> Bool {
        do throws(SystemError) {
            let type = Int16(shared ? F_RDLCK : F_WRLCK)
            _ = try check(.lock) { larder_ofd_lock(descriptor, type, offset, count) }
            return true
        } catch {
            if error.code == EAGAIN || error.code == EACCES { return false }
            throw error
        }
    }

    @discardableResult
    package func unlock(_ descriptor: Int32, at offset: Int64, count: Int64) -> Bool {
        larder_ofd_lock(descriptor, Int16(F_UNLCK), offset, count) == 0
    }

    package func blockSize(_ descriptor: Int32) throws(SystemError) -> Int64 {
        var status = statvfs()
        _ = try check(.blockSize) { fstatvfs(descriptor, &status) }
        return Int64(clamping: status.f_frsize)
    }

    package func sync(_ descriptor: Int32) throws(SystemError) {
        _ = try check(.sync) { larder_syncfs(descriptor) }
    }

    /// Repeats what a signal interrupted; throws errno where the result is negative.
    private func check<Value: SignedInteger>(
        _ call: SystemError.Call, _ body: () -> Value
    ) throws(SystemError) -> Value {
        while true {
            let result = body()
            if result >= 0 { return result }
            let code = errno
            if code != EINTR { throw SystemError(call, code) }
        }
    }
}

extension FileStatus {
    fileprivate init(_ status: stat) {
        let kind = status.st_mode & S_IFMT
        self.init(
            kind: kind == S_IFREG ? .file : kind == S_IFDIR ? .directory : .other, size: Int64(status.st_size),
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), links: UInt64(status.st_nlink),
            owner: status.st_uid, permissions: UInt32(status.st_mode & 0o7777),
            modified: Timestamp(
                milliseconds: Int64(status.st_mtim.tv_sec).multipliedReportingOverflow(by: 1000).partialValue
                    &+ Int64(status.st_mtim.tv_nsec) / 1_000_000))
    }
}

extension SystemError {
    package var description: String { "\(call.rawValue): \(String(cString: strerror(code)))" }

    /// Whether there is simply nothing of that name.
    package var isMissing: Bool { code == ENOENT || code == ENOTDIR }
}
