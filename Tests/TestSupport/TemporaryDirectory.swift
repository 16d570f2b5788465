import Foundation

/// A directory of its own for one test, removed with everything in it.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// - Parameter base: where it is made; the system's place for temporary files by default.
    package init(in base: String = NSTemporaryDirectory()) {
        path = (base as NSString).appendingPathComponent("larder-test-\(UUID().uuidString)")
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of something in it.
    package func callAsFunction(_ name: String) -> String { path + "/" + name }

    /// Every file below it, relative and sorted.
    package func files(under folder: String = "") -> [String] {
        let start = folder.isEmpty ? path : self(folder)
        let all = FileManager.default.enumerator(atPath: start)?.compactMap { $0 as? String } ?? []
        return all.filter { name in
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: start + "/" + name, isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }
}
