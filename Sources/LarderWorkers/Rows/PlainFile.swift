import Foundation
import Larder
import Synchronization

/// Files for people, beside the cache: exports, `-o`. Calls block.
package enum PlainFile {
    /// Puts a file at `path`: it is complete, or what was there before stays. A link is replaced, not followed: in a
    /// folder that others write to it may lead anywhere.
    package static func write(_ bytes: [UInt8], to path: String) throws(ImageError) {
        let (temporary, descriptor) = try create(beside: path)
        var status = stat()
        // Who may read a file stays as it was.
        if lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG { fchmod(descriptor, status.st_mode & 0o777) }
        var reason = Descriptor.write(bytes, to: descriptor)
        if close(descriptor) != 0, reason == 0 { reason = errno }
        if reason == 0, rename(temporary, path) != 0 { reason = errno }
        guard reason == 0 else {
            unlink(temporary)
            throw failure(path, reason)
        }
    }

    /// Writes to what a user has named, whatever it is: a pipe or a device takes the bytes, and of a link the file that
    /// it leads to is replaced.
    package static func write(_ bytes: [UInt8], toNamed path: String) throws(ImageError) {
        var status = stat()
        guard stat(path, &status) == 0 else { return try write(bytes, to: path) }
        guard status.st_mode & S_IFMT != S_IFREG else {
            guard let file = realpath(path, nil) else { throw failure(path, errno) }
            defer { free(file) }
            return try write(bytes, to: String(cString: file))
        }
        var descriptor: Int32
        repeat { descriptor = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY) } while descriptor < 0 && errno == EINTR
        guard descriptor >= 0 else { throw failure(path, errno) }
        var reason = Descriptor.write(bytes, to: descriptor)
        if close(descriptor) != 0, reason == 0 { reason = errno }
        if reason != 0 { throw failure(path, reason) }
    }

    private static let temporaries = Atomic<Int>(0)

    /// A new file in the folder of `path`. The process's number and a count tell it apart from those of all who write
    /// there; one that a process left behind that had this number is passed over.
    private static func create(beside path: String) throws(ImageError) -> (name: String, descriptor: Int32) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        while true {
            let count = temporaries.add(1, ordering: .relaxed).newValue
            let name = folder + ".larder-\(getpid())-\(count)"
            let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
            if descriptor >= 0 { return (name, descriptor) }
            guard errno == EEXIST || errno == EINTR else { throw failure(path, errno) }
        }
    }

    /// The whole file, up to `limit` bytes.
    package static func read(_ path: String, limit: Int) throws(ImageError) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(path, errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 256 << 10)
        while true {
            let count = piece.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(path, errno) }
            if count == 0 { return bytes }
            bytes += piece[..<count]
            guard bytes.count <= limit else { throw .tooLarge(.init("\(path) has more than \(limit) bytes")) }
        }
    }

    private static func failure(_ path: String, _ code: Int32) -> ImageError {
        .cacheUnavailable(.init("\(path) cannot be written: \(String(cString: strerror(code)))"))
    }

    private static func unreadable(_ path: String, _ code: Int32) -> ImageError {
        .unreachable(.init("\(path) cannot be read: \(String(cString: strerror(code)))", isTransient: false))
    }
}
