import Foundation

/// Plain files, as old as the entries and of their size, in as many folders: what the bare side unlinks.
struct OldFiles {
    private let folder: String
    private var paths: [String] = []
    var count: Int { paths.count }

    init(beside directory: String) {
        folder = directory + "-old"
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            let files = (try? FileManager.default.contentsOfDirectory(atPath: folder + "/" + name)) ?? []
            paths += files.map { "\(folder)/\(name)/\($0)" }
        }
        // Counting the cache's files has brought its inodes into memory; so has this.
        for path in paths {
            var status = stat()
            _ = lstat(path, &status)
        }
        // Not folder by folder.
        var random = SystemRandomNumberGenerator()
        paths.shuffle(using: &random)
    }

    mutating func take() -> String { paths.removeLast() }

    /// Makes up what is missing.
    func fill(to wanted: Int) throws {
        for name in 0..<256 {
            try FileManager.default.createDirectory(
                atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
        }
        for number in 0..<max(0, wanted - count) {
            let body = OriginImages.bytes(1000, UInt64(number) + 1)
            let path = "\(folder)/\(number % 256)/\(number)-\(getpid())"
            let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard file >= 0, write(file, body, body.count) == body.count else { fail("cannot write \(path)") }
            close(file)
        }
    }
}
