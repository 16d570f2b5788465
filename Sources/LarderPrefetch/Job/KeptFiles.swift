import Larder
import LarderWorkers

/// The files that a job has reported, 8 bytes each, to find out at its end which of them are still there: a cache that
/// is too small for a list lets go of its first images for its last ones.
package struct KeptFiles: Sendable {
    private var numbers: [UInt64] = []
    /// Whether the job itself has stored anything, so that others may have had to go.
    private var hasStored = false

    package init() {}

    mutating func note(_ result: RowResult) {
        guard case .success(let source) = result.outcome, let number = result.fileNumber else { return }
        numbers.append(number)
        if source != .disk { hasStored = true }
    }

    /// How many of the files are not there any more. Blocks. 0 where the directory cannot be listed.
    package func evicted(from disk: DiskTier) -> Int {
        guard hasStored else { return 0 }
        var wanted = numbers.sorted()
        // Rows that ask for the same image in other sizes share its file.
        var last: UInt64?
        wanted.removeAll { number in
            defer { last = number }
            return number == last
        }
        var found = 0
        do throws(ImageError) {
            try disk.eachFile { if wanted.containsSorted($0.high) { found += 1 } }
        } catch {
            return 0
        }
        return wanted.count - found
    }
}
