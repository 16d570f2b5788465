import CPlatform
import Foundation

/// Watches for memory pressure on a thread of its own, which sleeps in poll(2): the kernel wakes it where it offers
/// that, and otherwise it looks once a second. Ends when it is released.
final class MemoryPressureMonitor: Sendable {
    /// Both ends of a pipe: closing the one that we keep ends the thread.
    private let stop: Int32

    /// - Parameters:
    ///   - sources: where to look.
    ///   - interval: seconds between looks where the kernel does not wake us. 1 by default.
    ///   - onPressure: called on the monitor's thread.
    ///
    /// Without anything to look at, or without a pipe left to be had, nothing is watched.
    init(
        _ sources: MemoryPressureReader.Sources = .ofThisProcess(), interval: Double = 1,
        onPressure: @escaping @Sendable () -> Void
    ) {
        var ends: [Int32] = [-1, -1]
        guard sources.events != nil || sources.stall != nil, larder_pipe(&ends) == 0 else {
            stop = -1
            return
        }
        stop = ends[1]
        let wake = ends[0]
        let thread = Thread { Self.watch(sources, wake: wake, interval: interval, onPressure) }
        thread.name = "larder.pressure"
        thread.stackSize = 256 << 10
        thread.start()
    }

    deinit { if stop >= 0 { close(stop) } }

    private static func watch(
        _ sources: MemoryPressureReader.Sources, wake: Int32, interval: Double, _ onPressure: () -> Void
    ) {
        var reader = MemoryPressureReader(sources)
        var signal = sources.stall.flatMap(trigger) ?? -1
        // A trigger comes in time, so nothing else is looked at before.
        let isTriggered = signal >= 0
        if !isTriggered, let events = sources.events { signal = open(events, O_RDONLY | O_CLOEXEC) }
        defer { for file in [wake, signal] where file >= 0 { close(file) } }
        let pause = Int32(max(1, min(interval, 3600) * 1000))
        var looked = DispatchTime.now().uptimeNanoseconds
        while true {
            let revents = wait(
                [(wake, POLLIN), (signal, POLLPRI)], milliseconds: isTriggered && signal >= 0 ? -1 : pause)
            if revents[0] != 0 { return }
            let now = DispatchTime.now().uptimeNanoseconds
            let isPressed = reader.isPressed(after: Double(now - looked) / 1e9)
            looked = now
            if isPressed || isTriggered && revents[1] & POLLPRI != 0 {
                onPressure()
                // What was given back takes a moment to be felt.
                if wait([(wake, POLLIN)], milliseconds: pause)[0] != 0 { return }
            } else if revents[1] & (POLLHUP | POLLNVAL) != 0 || isTriggered && revents[1] & POLLERR != 0 {
                // The group is gone, and would never let us sleep again.
                close(signal)
                signal = -1
            }
        }
    }

    /// What poll(2) says of each file; zeros where the time has passed. A file below 0 is never ready.
    private static func wait(_ files: [(file: Int32, events: Int32)], milliseconds: Int32) -> [Int32] {
        var polled = files.map { pollfd(fd: $0.file, events: Int16($0.events), revents: 0) }
        while poll(&polled, nfds_t(polled.count), milliseconds) < 0 {
            guard errno == EINTR else { return polled.map { _ in POLLNVAL } }
        }
        return polled.map { Int32($0.revents) }
    }

    /// Asks the kernel to tell when tasks have waited for memory for 200 ms within 2 s, the shortest window that it
    /// gives to everybody; nil where it does not.
    private static func trigger(_ path: String) -> Int32? {
        var status = stat()
        // Files of the kernel's have no size. Nothing is written to any other.
        guard stat(path, &status) == 0, status.st_size == 0 else { return nil }
        let file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        let request = "some 200000 2000000"
        // The terminating zero belongs to it.
        guard write(file, request, request.utf8.count + 1) > 0 else {
            close(file)
            return nil
        }
        return file
    }
}
