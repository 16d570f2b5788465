import Foundation
import Larder

/// Many processes on one directory with a limit that holds a part of what they want; the true sum of the files is
/// taken again and again under the lock.
struct Crowd {
    let arguments: Arguments

    init(_ arguments: Arguments) { self.arguments = arguments }

    func run() -> Never {
        let processes = arguments.number("processes", 8)
        let seconds = arguments.number("seconds", 30)
        let keys = arguments.number("keys", 1000)
        // A tenth of the working set: bodies are half of the largest on average.
        let body = arguments.number("body", 60_000)
        let bytes = arguments.number("bytes", keys * body / 2 / 10)
        let children = (0..<processes).map { number in
            Child([
                "work", "--directory", arguments.directory, "--seed", "\(number + 1)", "--keys", "\(keys)",
                "--bytes", "\(bytes)", "--seconds", "\(seconds)", "--body", "\(body)",
            ])
        }
        do {
            var configuration = DiskTierConfiguration()
            configuration.maximumBytes = Int64(bytes)
            let tier = try DiskTier(directory: arguments.directory, configuration: configuration)
            let end = SystemTime().monotonic + UInt64(seconds) * 1_000_000_000
            var looks = 0
            var most: Int64 = 0
            while SystemTime().monotonic < end {
                let total = try tier.recount()
                if total.wrongFolders > 0 { fail("\(total.wrongFolders) folders were counted wrong") }
                most = max(most, total.bytes)
                if total.bytes > Int64(bytes) { fail("\(total.bytes) bytes, limit \(bytes)") }
                looks += 1
                usleep(50_000)
            }
            for child in children {
                let status = child.wait()
                if status != 0 { fail("a worker ended with \(status)") }
            }
            say("\(processes) processes, \(looks) looks, at most \(most) bytes of \(bytes)")
        } catch {
            fail("\(error)")
        }
        Checker(arguments, keys: keys, bytes: bytes).check("after the crowd")
        exit(0)
    }
}
