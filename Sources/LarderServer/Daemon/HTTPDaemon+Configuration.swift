import Glibc

extension HTTPDaemon {
    package struct Configuration: Sendable {
        /// Threads that serve connections. The number of processors by default.
        package var threads: Int
        /// Open connections; more are closed at once.
        package var maxConnections: Int
        /// Bytes of a connection's request line and header fields.
        package var memoryPerConnection: Int
        /// Seconds without any byte after which a connection is closed.
        package var idleTimeout: UInt32
        /// Seconds from the first byte of a request to the end of its header.
        package var headerTimeout: Double
        /// Bytes a second that a client must take of a body, reckoned over the whole.
        package var minimumRate: Int
        /// Bytes of a body that is held in memory while it is asked for again and again; longer ones are sent from
        /// their files.
        package var maxHeldBody = 64 << 10

        package init(
            threads: Int = sysconf(Int32(_SC_NPROCESSORS_ONLN)), maxConnections: Int = 16_000,
            memoryPerConnection: Int = 16 << 10, idleTimeout: UInt32 = 30, headerTimeout: Double = 10,
            minimumRate: Int = 8 << 10
        ) {
            self.threads = max(1, threads)
            self.maxConnections = max(16, maxConnections)
            self.memoryPerConnection = max(4096, memoryPerConnection)
            self.idleTimeout = idleTimeout
            self.headerTimeout = headerTimeout
            self.minimumRate = max(1, minimumRate)
        }
    }
}
