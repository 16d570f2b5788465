import Glibc

/// All of the file system that the disk tier uses, so that tests can make every call fail in turn.
///
/// Calls block. Descriptors are plain numbers; whoever opened one closes it. Names are relative to an open
/// directory and are never followed through a symbolic link.
package protocol FileSystem: Sendable {
    /// Opens a directory by a path of the user's, following symbolic links.
    func openRoot(_ path: String) throws(SystemError) -> Int32
    /// Makes the directory of that path and those above it that are missing.
    func makeRoot(_ path: String, permissions: UInt32) throws(SystemError)
    func open(
        _ name: UnsafePointer<CChar>, in directory: Int32, _ purpose: OpenPurpose, permissions: UInt32
    ) throws(SystemError) -> Int32
    func close(_ descriptor: Int32)
    func status(of descriptor: Int32) throws(SystemError) -> FileStatus
    func status(of name: UnsafePointer<CChar>, in directory: Int32) throws(SystemError) -> FileStatus
    /// Reads until `buffer` is full or the file ends; gives the bytes read.
    func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError)
        -> Int
    /// Opens for reading and reads the beginning: a hit's first call. Fewer bytes than `buffer` takes need not be all.
    func openAndRead(
        _ name: UnsafePointer<CChar>, in directory: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> (descriptor: Int32, count: Int)
    /// Writes all of `bytes`.
    func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError)
    /// Copies within the kernel where it can; gives the bytes copied, 0 at the end.
    func copy(_ source: Int32, at offset: Int64, to target: Int32, at targetOffset: Int64, count: Int)
        throws(SystemError) -> Int
    func truncate(_ descriptor: Int32, to length: Int64) throws(SystemError)
    func changeMode(_ descriptor: Int32, _ permissions: UInt32) throws(SystemError)
    /// Sets the time of the last change.
    func touch(_ descriptor: Int32, at time: Timestamp) throws(SystemError)
    /// Throws why no file may be made in the directory; makes none.
    func checkWritable(_ directory: Int32) throws(SystemError)
    func rename(
        _ name: UnsafePointer<CChar>, in directory: Int32, to newName: UnsafePointer<CChar>, in newDirectory: Int32
    ) throws(SystemError)
    func unlink(_ name: UnsafePointer<CChar>, in directory: Int32) throws(SystemError)
    func makeDirectory(_ name: UnsafePointer<CChar>, in directory: Int32, permissions: UInt32) throws(SystemError)
    /// The names in an open directory, `.` and `..` left out; `body` answers whether to go on.
    func list(_ directory: Int32, _ body: (UnsafePointer<CChar>) -> Bool) throws(SystemError)
    /// Tries for an exclusive (or shared) lock on a range that ends with the descriptor; false where another
    /// descriptor holds it.
    func tryLock(_ descriptor: Int32, at offset: Int64, count: Int64, shared: Bool) throws(SystemError) -> Bool
    /// False where the system could not: then only closing the descriptor ends the lock.
    @discardableResult
    func unlock(_ descriptor: Int32, at offset: Int64, count: Int64) -> Bool
    /// The unit in which the file system gives space to files, in bytes.
    func blockSize(_ descriptor: Int32) throws(SystemError) -> Int64
    /// Writes everything of the file system to the device.
    func sync(_ descriptor: Int32) throws(SystemError)
}

extension FileSystem {
    package func openAndRead(
        _ name: UnsafePointer<CChar>, in directory: Int32, into buffer: UnsafeMutableRawBufferPointer
    ) throws(SystemError) -> (descriptor: Int32, count: Int) {
        let descriptor = try open(name, in: directory, .read, permissions: 0)
        do throws(SystemError) {
            return (descriptor, try read(descriptor, into: buffer, at: 0))
        } catch {
            close(descriptor)
            throw error
        }
    }
}

/// What a file is opened for.
package enum OpenPurpose: Sendable, Hashable {
    case read
    /// For reading and writing.
    case update
    /// For reading and writing; made where it is missing.
    case updateOrCreate
    /// For reading and writing; it must not exist yet.
    case create
    case directory
}

/// What fstat tells.
package struct FileStatus: Sendable, Hashable {
    package enum Kind: Sendable { case file, directory, other }
    package var kind: Kind
    package var size: Int64
    package var device: UInt64
    package var inode: UInt64
    package var links: UInt64
    package var owner: UInt32
    package var permissions: UInt32
    package var modified: Timestamp

    /// Whether both are one file.
    package func isSame(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }
}

/// A system call that failed, and errno.
package struct SystemError: Error, Sendable, Hashable, CustomStringConvertible {
    package enum Call: String, Sendable, Hashable, CaseIterable {
        case openRoot, makeRoot, open, status, statusByName, read, write, copy, truncate, changeMode, rename, unlink
        case makeDirectory, list, lock, blockSize, sync, touch, access
    }
    package var call: Call
    package var code: Int32

    package init(_ call: Call, _ code: Int32) {
        self.call = call
        self.code = code
    }

    /// Whether what was to be read is no file that can be: a folder or a pipe in a file's place.
    var isNoFile: Bool { call == .read && (code == EISDIR || code == ESPIPE) }

    /// Whether the device, or what the user may use of it, is full.
    var isFull: Bool { code == ENOSPC || code == EDQUOT }
}
