import Foundation

@testable import Larder

/// The system's file system, in which one call in particular fails, or every one of a kind.
package final class FaultyFileSystem: FileSystem {
    private struct State {
        var calls: [SystemError.Call] = []
        var records = false
        var failAt: Int?
        var code: Int32 = EIO
        var failing: [SystemError.Call: Int32] = [:]
        var failed: SystemError?
        var thread: pthread_t?
        var keepsLocks = false
        /// Descriptors on which a short lock is held, and who took it.
        var lockers: [Int32: pthread_t] = [:]
        var goneUnderLock = 0
    }

    private let base = PosixFileSystem()
    private let state = Lock(State())

    package init() {}

    /// Counts the calls from now on.
    package func record() {
        state.withLock { state in
            state = State()
            state.records = true
        }
    }

    /// The calls since ``record()``.
    package var calls: [SystemError.Call] { state.withLock { $0.calls } }
    /// The call that was made to fail.
    package var failed: SystemError? { state.withLock { $0.failed } }

    /// Counts from now on, and makes the call of that number fail.
    ///
    /// - Parameter onThisThread: only calls on the calling thread count.
    package func fail(at number: Int, code: Int32, onThisThread: Bool = false) {
        let thread = onThisThread ? pthread_self() : nil
        state.withLock { state in
            state = State()
            state.thread = thread
            state.records = true
            state.failAt = number
            state.code = code
        }
    }

    /// Makes every call of a kind fail; nil mends it.
    package func fail(_ call: SystemError.Call, code: Int32?) { state.withLock { $0.failing[call] = code } }

    /// Makes giving a lock back fail: it ends with its descriptor.
    package func keepLocks() { state.withLock { $0.keepsLocks = true } }

    /// Files that went while the thread held a short lock: a call that may wait for the device for seconds.
    package var goneUnderLock: Int { state.withLock { $0.goneUnderLock } }

    /// A file has lost a link, or what kept it open: it has gone where that was the last.
    private func lost(_ file: Int32) {
        guard let status = try? base.status(of: file), status.kind == .file, status.links == 0 else { return }
        let thread = pthread_self()
        guard state.withLock({ $0.lockers.values.contains { pthread_equal($0, thread) != 0 } }) else { return }
        let descriptors = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
        let isOpen = descriptors.compactMap { Int32($0) }.contains { other in
            other != file && (try? base.status(of: other))?.isSame(as: status) == true
        }
        if !isOpen { state.withLock { $0.goneUnderLock += 1 } }
    }

    /// Does what may take a file's last link away.
    private func unlinking(
        _ name: UnsafePointer<CChar>, in directory: Int32, _ body: () throws(SystemError) -> Void
    ) throws(SystemError) {
        let file = try? base.open(name, in: directory, .read, permissions: 0)
        try body()
        if let file {
            lost(file)
            base.close(file)
        }
    }

    /// Nothing fails any more; ``failed`` still tells what did.
    package func heal() {
        state.withLock { state in
            let failed = state.failed
            state = State()
            state.failed = failed
        }
    }

    private func check(_ call: SystemError.Call) throws(SystemError) {
        let thread = pthread_self()
        let code = state.withLock { state -> Int32? in
            if let code = state.failing[call] { return code }
            guard state.records, state.thread == nil || state.thread == thread else { return nil }
            state.calls.append(call)
            guard state.failAt == state.calls.count - 1 else { return nil }
            state.failed = SystemError(call, state.code)
            return state.code
        }
        if let code { throw SystemError(call, code) }
    }

    package func openRoot(_ path: String) throws(SystemError) -> Int32 {
        try check(.openRoot)
        return try base.openRoot(path)
    }
    package func makeRoot(_ path: String, permissions: UInt32) throws(SystemError) {
        try check(.makeRoot)
        try base.makeRoot(path, permissions: permissions)
    }
    package func open(
        _ name: UnsafePointer<CChar>, in directory: Int32, _ purpose: OpenPurpose, permissions: UInt32
    ) throws(SystemError) -> Int32 {
        try check(.open)
        return try base.open(name, in: directory, purpose, permissions: permissions)
    }
    package func close(_ descriptor: Int32) {
        state.withLock { _ = $0.lockers.removeValue(forKey: descriptor) }
        lost(descriptor)
        base.close(descriptor)
    }
    package func status(of descriptor: Int32) throws(SystemError) -> FileStatus {
        try check(.status)
        return try base.status(of: descriptor)
    }
    package func status(of name: UnsafePointer<CChar>, in directory: Int32) throws(SystemError) -> FileStatus {
        try check(.statusByName)
        return try base.status(of: name, in: directory)
    }
    package func read(
        _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemError) -> Int {
        try check(.read)
        return try base.read(descriptor, into: buffer, at: offset)
    }
    package func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        do throws(SystemError) { try check(.write) } catch {
            // As a full disk does: a part of it is written.
            try? base.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count / 2)]), at: offset)
            throw error
        }
        try base.write(descriptor, bytes, at: offset)
    }
    package func copy(
        _ source: Int32, at offset: Int64, to target: Int32, at targetOffset: Int64, count: Int
    ) throws(SystemError) -> Int {
        try check(.copy)
        return try base.copy(source, at: offset, to: target, at: targetOffset, count: count)
    }
    package func truncate(_ descriptor: Int32, to length: Int64) throws(SystemError) {
        try check(.truncate)
        try base.truncate(descriptor, to: length)
    }
    package func changeMode(_ descriptor: Int32, _ permissions: UInt32) throws(SystemError) {
        try check(.changeMode)
        try base.changeMode(descriptor, permissions)
    }
    package func touch(_ descriptor: Int32, at time: Timestamp) throws(SystemError) {
        try check(.touch)
        try base.touch(descriptor, at: time)
    }
    package func checkWritable(_ directory: Int32) throws(SystemError) {
        try check(.access)
        try base.checkWritable(directory)
    }
    package func rename(
        _ name: UnsafePointer<CChar>, in directory: Int32, to newName: UnsafePointer<CChar>, in newDirectory: Int32
    ) throws(SystemError) {
        try check(.rename)
        try unlinking(newName, in: newDirectory) { () throws(SystemError) in
            try base.rename(name, in: directory, to: newName, in: newDirectory)
        }
    }
    package func unlink(_ name: UnsafePointer<CChar>, in directory: Int32) throws(SystemError) {
        try check(.unlink)
        try unlinking(name, in: directory) { () throws(SystemError) in try base.unlink(name, in: directory) }
    }
    package func makeDirectory(
        _ name: UnsafePointer<CChar>, in directory: Int32, permissions: UInt32
    ) throws(SystemError) {
        try check(.makeDirectory)
        try base.makeDirectory(name, in: directory, permissions: permissions)
    }
    package func list(_ directory: Int32, _ body: (UnsafePointer<CChar>) -> Bool) throws(SystemError) {
        try check(.list)
        try base.list(directory, body)
    }
    package func tryLock(
        _ descriptor: Int32, at offset: Int64, count: Int64, shared: Bool
    ) throws(SystemError) -> Bool {
        try check(.lock)
        guard try base.tryLock(descriptor, at: offset, count: count, shared: shared) else { return false }
        // Locks that are held for long lie elsewhere.
        if offset == 0 { state.withLock { $0.lockers[descriptor] = pthread_self() } }
        return true
    }
    @discardableResult
    package func unlock(_ descriptor: Int32, at offset: Int64, count: Int64) -> Bool {
        guard !state.withLock({ $0.keepsLocks }), base.unlock(descriptor, at: offset, count: count) else {
            return false
        }
        state.withLock { _ = $0.lockers.removeValue(forKey: descriptor) }
        return true
    }
    package func blockSize(_ descriptor: Int32) throws(SystemError) -> Int64 {
        try check(.blockSize)
        return try base.blockSize(descriptor)
    }
    package func sync(_ descriptor: Int32) throws(SystemError) {
        try check(.sync)
        try base.sync(descriptor)
    }
}
