import Foundation

/// What the kernel says of memory: the counters of this process's cgroup (`memory.events`, cgroup v2) and the time
/// for which tasks have waited for memory (PSI: `memory.pressure` of the cgroup, or `/proc/pressure/memory`).
///
/// Counters alone mislead: `max` counts every reclaim at the limit, and in a container that reads many files the page
/// cache alone brings that about, without any harm. So where waiting is measured, only waiting counts; `high` and
/// `max` are taken for pressure where it is not. `oom` always is.
struct MemoryPressureReader {
    /// Where to read; nil for what there is not.
    struct Sources: Sendable, Hashable {
        var events: String?
        var stall: String?

        /// Those of this process, found through `cgroup` and `mountinfo`.
        static func ofThisProcess(root: String = "") -> Sources {
            var sources = Sources()
            if let directory = cgroupDirectory(root: root) {
                // The root group has no events of its own.
                sources.events = readable(root + directory + "/memory.events")
                sources.stall = readable(root + directory + "/memory.pressure")
            }
            sources.stall = sources.stall ?? readable(root + "/proc/pressure/memory")
            return sources
        }

        private static func readable(_ path: String) -> String? { access(path, R_OK) == 0 ? path : nil }

        /// The directory of this process's cgroup, v2.
        private static func cgroupDirectory(root: String) -> String? {
            guard let groups = contents(root + "/proc/self/cgroup"),
                let mounts = contents(root + "/proc/self/mountinfo")
            else { return nil }
            guard let group = groups.split(separator: "\n").first(where: { $0.hasPrefix("0::") })?.dropFirst(3)
            else { return nil }
            for mount in mounts.split(separator: "\n") {
                // proc(5): ID, parent, device, root, mount point, options, …, "-", type, source, …
                let fields = mount.split(separator: " ")
                guard let dash = fields.firstIndex(of: "-"), dash >= 6, fields.count > dash + 1,
                    fields[dash + 1] == "cgroup2"
                else { continue }
                // A container sees its own group as the mount's root.
                let top = fields[3]
                let inside = top != "/" && group.hasPrefix(top) ? group.dropFirst(top.count) : group
                return inside == "/" ? String(fields[4]) : "\(fields[4])\(inside)"
            }
            return nil
        }
    }

    /// How much of the time tasks must have waited for memory: a tenth.
    static let share = 0.1

    private let sources: Sources
    private var last: Sample

    private struct Sample {
        var events: [Substring: UInt64] = [:]
        /// Microseconds in which at least one task waited.
        var stalled: UInt64?
    }

    /// What has happened before is not counted.
    init(_ sources: Sources) {
        self.sources = sources
        last = Self.sample(sources)
    }

    /// Whether memory has been short since the last time of asking.
    ///
    /// - Parameter seconds: how long ago that was.
    mutating func isPressed(after seconds: Double) -> Bool {
        let now = Self.sample(sources)
        defer { last = now }
        func grew(_ name: Substring) -> Bool { (now.events[name] ?? 0) > (last.events[name] ?? .max) }
        if grew("oom") || grew("oom_kill") { return true }
        if let before = last.stalled, let after = now.stalled {
            return after > before && Double(after - before) >= Self.share * seconds * 1e6
        }
        return grew("high") || grew("max")
    }

    private static func sample(_ sources: Sources) -> Sample {
        var sample = Sample()
        for line in (sources.events.flatMap(contents) ?? "").split(separator: "\n") {
            let fields = line.split(separator: " ")
            if fields.count == 2, let count = UInt64(fields[1]) { sample.events[fields[0]] = count }
        }
        for line in (sources.stall.flatMap(contents) ?? "").split(separator: "\n") where line.hasPrefix("some ") {
            let total = line.split(separator: " ").first { $0.hasPrefix("total=") }
            sample.stalled = total.flatMap { UInt64($0.dropFirst("total=".count)) }
        }
        return sample
    }
}

/// A small file of the kernel's, which gives its size as 0; nil where it cannot be read.
private func contents(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 16)
    var filled = 0
    while filled < bytes.count {
        let count = bytes.withUnsafeMutableBytes { read(file, $0.baseAddress! + filled, $0.count - filled) }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { break }
        filled += count
    }
    return String(decoding: bytes[..<filled], as: UTF8.self)
}
