/// How a cache directory is used. The limits hold for all processes on it together; each process brings its own.
package struct DiskTierConfiguration: Sendable {
    /// Bytes used on disk by entries, their metadata included, each rounded up to the file system's block.
    package var maximumBytes: Int64 = 2 << 30
    package var maximumCount: Int64 = 1_000_000
    /// Seconds after which an entry that was neither stored nor revalidated since goes; nil: never.
    package var maximumAge: Int64?
    package var eviction = DiskEvictionPolicy.leastRecentlyUsed
    /// 0600 or 0644. Directories are made with 0700.
    package var filePermissions: UInt32 = 0o600
    /// Whether a missing directory is made.
    package var creates = true
    /// Whether an empty directory is made a cache directory. Off for who looks after one that is there.
    package var marks = true
    /// Whether a directory that is neither empty nor marked as ours is taken over. Its files stay untouched.
    package var adopts = false
    /// What is set aside as damaged, at most.
    package var quarantine = Bounds(count: 32, bytes: 64 << 20, age: 30 * 86_400)
    /// The beginnings of cut transfers, at most.
    package var partials = Bounds(count: 64, bytes: 256 << 20, age: 7 * 86_400)
    /// Bytes of one body that are held in memory where the directory cannot take it.
    package var maximumBytesInMemory = 64 << 20
    /// Told once of each thing that keeps the tier from storing. Called on whichever thread met it.
    package var warnings: @Sendable (String) -> Void = { _ in }

    package struct Bounds: Sendable, Hashable {
        package var count: Int
        package var bytes: Int64
        /// Seconds.
        package var age: Int64
        package init(count: Int, bytes: Int64, age: Int64) {
            self.count = count
            self.bytes = bytes
            self.age = age
        }
    }

    package init() {}
}

/// Which entry goes first.
package enum DiskEvictionPolicy: String, Sendable, Hashable, CaseIterable {
    case leastRecentlyUsed = "lru"
    case firstStored = "fifo"

    /// Whether a use moves an entry to the end of the order.
    var movesOnUse: Bool { self == .leastRecentlyUsed }
}
