import Glibc

/// The descriptors 0 to 2, which every process expects to have.
enum StandardStreams {
    /// Gives those that the caller has closed to nothing, so that no file that is opened later gets their numbers and
    /// what is written to standard error. Whoever uses one of them still gets an error: they are open the wrong way.
    static func open() {
        for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest number that is free: this one.
            _ = Glibc.open("/dev/null", descriptor == 0 ? O_WRONLY : O_RDONLY)
        }
    }
}
