import Foundation
import Larder
import LarderWorkers

/// A file without a name for what waits to be read: its space is given back when it is released, or the process ends.
///
/// One may write while another reads what was written before. Calls block.
final class SpoolFile: Sendable {
    /// Why a file cannot be made, written or read: a text of the system's.
    struct Failure: Error {
        let reason: String
        fileprivate init(_ code: Int32) { reason = String(cString: strerror(code)) }
    }

    private let descriptor: Int32

    /// In the system's place for temporary files (`TMPDIR`).
    init() throws(Failure) {
        let path = FileManager.default.temporaryDirectory.path + "/larder-list-\(UUID().uuidString)"
        descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Failure(errno) }
        unlink(path)
    }

    deinit { close(descriptor) }

    /// Appends all bytes, or throws.
    func append(_ bytes: [UInt8]) throws(Failure) {
        let reason = Descriptor.write(bytes, to: descriptor)
        if reason != 0 { throw Failure(reason) }
    }

    /// At least one and up to `count` of the bytes from there, which must have been written.
    func read(at offset: Int, count: Int) throws(Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        while true {
            let got = bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, count, off_t(offset)) }
            if got < 0, errno == EINTR { continue }
            // What was written is there, unless the device has lost it.
            guard got > 0 else { throw Failure(got < 0 ? errno : EIO) }
            bytes.removeLast(count - got)
            return bytes
        }
    }
}
