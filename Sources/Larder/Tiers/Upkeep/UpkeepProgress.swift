/// How far long work on a cache directory has come.
package struct UpkeepProgress: Sendable, Hashable {
    /// Entries dealt with.
    package var done: Int
    /// Entries there were when it began; nil where not known.
    package var total: Int?
    /// Bytes of payload read, removed or written.
    package var bytes: Int64

    package init(done: Int, total: Int?, bytes: Int64) {
        self.done = done
        self.total = total
        self.bytes = bytes
    }

    /// Called now and then, on the thread that works; answers whether to go on.
    package typealias Report = (UpkeepProgress) -> Bool
}
