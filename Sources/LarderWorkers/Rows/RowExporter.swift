import Foundation
import Larder

/// `--export DIR`: images or thumbnails as plain files with readable names. Calls block.
package struct RowExporter: Sendable {
    private let directory: String

    /// Makes the directory where it is missing.
    package init(directory: String) throws(ImageError) {
        self.directory = directory
        do {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        } catch {
            throw .cacheUnavailable(.init("the directory \(directory) cannot be made: \(error.localizedDescription)"))
        }
    }

    /// Writes a file: complete, or not at all.
    ///
    /// - Parameter suffix: what tells several files of a row apart, such as `-256x256`.
    package func write(
        _ bytes: [UInt8], of row: Row, key: CacheKey, suffix: String = "", format: ImageFormat
    ) throws(ImageError) {
        let name = Self.name(of: row, key: key) + Self.plain(suffix) + "." + format.fileExtension
        try PlainFile.write(bytes, to: directory + "/" + name)
    }

    /// The row's id, or the last part of its URL with a few digits of its key, as a harmless file name.
    package static func name(of row: Row, key: CacheKey) -> String {
        if let id = row.id {
            let name = plain(id)
            // What had to be changed is told apart from what else might become the same.
            return name.utf8.elementsEqual(id.utf8) ? name : name + "-" + CacheKey(url: id).hash.description.prefix(8)
        }
        let path = key.url.prefix { $0 != "?" && $0 != "#" }
        var last = String(path.split(separator: "/").last ?? "image").removingPercentEncoding ?? "image"
        if let dot = last.lastIndex(of: "."), dot > last.startIndex { last = String(last[..<dot]) }
        return plain(last) + "-" + key.hash.description.prefix(8)
    }

    /// Letters, digits and `-_.`, at most 120 bytes, no dot first.
    package static func plain(_ text: String) -> String {
        var name = ""
        // By scalars: a slash and a combining mark behind it are one Character.
        for scalar in text.unicodeScalars {
            let facts = scalar.properties
            let isMark = facts.generalCategory == .nonspacingMark || facts.generalCategory == .spacingMark
            let isPlain =
                facts.isAlphabetic || facts.numericType != nil || isMark || "-_".unicodeScalars.contains(scalar)
                || scalar == "." && !name.isEmpty
            let next = isPlain ? String(scalar) : "_"
            guard name.utf8.count + next.utf8.count <= 120 else { break }
            name += next
        }
        return name
    }
}
