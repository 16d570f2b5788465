import Foundation
import Glibc

/// What an export wrote.
package struct CacheExport: Sendable, Hashable {
    package var files = 0
    package var bytes: Int64 = 0
    /// Entries that could not be read whole; they were set aside.
    package var damaged = 0
    package var isComplete = false
}

extension EntryQuery {
    /// Originals that are not private.
    package static var forExport: EntryQuery {
        var query = EntryQuery()
        query.variants = false
        query.includesPrivate = false
        return query
    }
}

extension DiskTier {
    /// Writes the images as plain files with readable names into a directory, and `manifest.jsonl` with a line for
    /// each: `url`, `file`, `sha256`, `format`, `width`, `height`. Nothing that is there is overwritten. Safe while
    /// others use the cache.
    ///
    /// - Parameters:
    ///   - target: made where it is missing.
    ///   - query: which entries; originals only and no private ones by default.
    /// - Throws: ``ImageError/cacheUnavailable(_:)`` where the target cannot be written to, holds a manifest already,
    ///   or there is no index.
    package func export(
        to target: String, _ query: EntryQuery = .forExport, progress: UpkeepProgress.Report = { _ in true }
    ) throws(ImageError) -> CacheExport {
        guard !isDirectory(target) else {
            throw CacheDirectory.unavailable("\(target) is the cache directory itself; export to another one")
        }
        var hashes: [CacheKey.Hash] = []
        try list(query) { row in
            hashes.append(row.hash)
            return true
        }
        do throws(SystemError) {
            let export = try ExportFolder(target, fileSystem)
            var result = CacheExport()
            for hash in hashes {
                // Evicted meanwhile: no loss.
                if let entry = volume.entry(of: hash) {
                    if (try? entry.verifyPayload()) == nil {
                        result.damaged += 1
                    } else {
                        try export.add(entry, volume)
                        result.files += 1
                        result.bytes += entry.tail.payloadLength
                    }
                }
                let state = UpkeepProgress(
                    done: result.files + result.damaged, total: hashes.count, bytes: result.bytes)
                guard progress(state) else { return result }
            }
            result.isComplete = true
            return result
        } catch {
            guard error.code == EEXIST else {
                throw CacheDirectory.unavailable("cannot export to \(target) (\(error))")
            }
            throw CacheDirectory.unavailable(
                "there is an export in \(target) already: its manifest.jsonl is not overwritten; name another directory"
            )
        }
    }

    private func isDirectory(_ path: String) -> Bool {
        guard let folder = try? fileSystem.openRoot(path) else { return false }
        defer { fileSystem.close(folder) }
        return (try? fileSystem.status(of: folder).isSame(as: volume.directory.identity)) ?? false
    }
}

/// The directory that an export writes to. Not for use from two threads at once.
private final class ExportFolder {
    private let fileSystem: any FileSystem
    private let folder: Int32
    private let manifest: Int32
    private var manifestLength: Int64 = 0

    init(_ path: String, _ fileSystem: any FileSystem) throws(SystemError) {
        self.fileSystem = fileSystem
        do throws(SystemError) {
            folder = try fileSystem.openRoot(path)
        } catch {
            guard error.isMissing else { throw error }
            try fileSystem.makeRoot(path, permissions: 0o777)
            folder = try fileSystem.openRoot(path)
        }
        do throws(SystemError) {
            manifest = try fileSystem.open("manifest.jsonl", in: folder, .create, permissions: 0o666)
        } catch {
            fileSystem.close(folder)
            throw error
        }
    }

    deinit {
        fileSystem.close(manifest)
        fileSystem.close(folder)
    }

    func add(_ entry: StoredEntry, _ volume: Volume) throws(SystemError) {
        let (name, file) = try create(entry)
        do throws(SystemError) {
            defer { fileSystem.close(file) }
            if let source = entry.descriptor {
                _ = try volume.copy(source, to: file, count: entry.tail.payloadLength)
            }
        } catch {
            // Never a half file.
            try? fileSystem.unlink(name, in: folder)
            throw error
        }
        try note(entry, name)
    }

    /// A new file under the image's own name; where that is taken, with a part of the hash.
    private func create(_ entry: StoredEntry) throws(SystemError) -> (name: String, file: Int32) {
        let (stem, suffix) = ExportName.parts(url: entry.key.url, format: entry.header?.format)
        let hash = entry.key.hash.description
        for distinction in ["", "-" + hash.prefix(8), "-" + hash] {
            let name = stem + distinction + suffix
            do throws(SystemError) {
                return (name, try fileSystem.open(name, in: folder, .create, permissions: 0o666))
            } catch {
                if error.code != EEXIST { throw error }
            }
        }
        throw SystemError(.open, EEXIST)
    }

    private func note(_ entry: StoredEntry, _ name: String) throws(SystemError) {
        var line: [String: Any] = ["url": entry.key.url, "file": name, "sha256": entry.sha256.hex]
        if let header = entry.header {
            line["format"] = header.format.rawValue
            line["width"] = header.width
            line["height"] = header.height
        }
        if let variant = entry.key.variant { line["variant"] = variant }
        guard
            var text = try? JSONSerialization.data(
                withJSONObject: line, options: [.sortedKeys, .withoutEscapingSlashes])
        else { return }
        text.append(0x0A)
        let bytes = Array(text)
        try bytes.withRawBytes { (bytes) throws(SystemError) in
            try fileSystem.write(manifest, bytes, at: manifestLength)
        }
        manifestLength += Int64(bytes.count)
    }
}

/// A file name that people can read, made of a URL: never a path, never hidden, never too long.
enum ExportName {
    static func parts(url: String, format: ImageFormat?) -> (stem: String, suffix: String) {
        var path = url.prefix { $0 != "?" && $0 != "#" }
        if let authority = path.range(of: "://")?.upperBound {
            path = path[authority...].firstIndex(of: "/").map { path[$0...] } ?? ""
        }
        let last = path.split(separator: "/").last.map(String.init) ?? ""
        let decoded = last.removingPercentEncoding ?? last
        var stem = String(decoded.map { allowed($0) ? $0 : "_" })
        let suffix = format.map { "." + $0.fileExtension } ?? ""
        if !suffix.isEmpty, let dot = stem.lastIndex(of: "."), stem[dot...].utf8.count <= 6 {
            stem = String(stem[..<dot])
        }
        stem = String(stem.drop { $0 == "." || $0 == "-" })
        while stem.utf8.count > 120 { stem.removeLast() }
        return (stem.isEmpty ? "image" : stem, suffix)
    }

    private static func allowed(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || "-_. ()+@".contains(character)
    }
}
