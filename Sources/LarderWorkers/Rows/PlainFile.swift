import Foundation
import Larder

/// Files for people, beside the cache: exports, `-o`. Calls block.
package enum PlainFile {
    /// Replaces the file at `path`: it is complete or what it was before.
    package static func write(_ bytes: [UInt8], to path: String) throws(ImageError) {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        let temporary = folder + ".larder-\(getpid())-\(CacheKey(url: path).hash)"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard descriptor >= 0 else { throw failure(path, errno) }
        var done = 0
        var reason: Int32 = 0
        bytes.withUnsafeBytes { buffer in
            while done < buffer.count {
                let count = Glibc.write(descriptor, buffer.baseAddress! + done, buffer.count - done)
                if count < 0, errno == EINTR { continue }
                guard count > 0 else {
                    reason = errno
                    return
                }
                done += count
            }
        }
        if close(descriptor) != 0, reason == 0 { reason = errno }
        if reason == 0, rename(temporary, path) != 0 { reason = errno }
        guard reason == 0 else {
            unlink(temporary)
            throw failure(path, reason)
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
