import Foundation

/// The image corpus beside the package, or where `LARDER_CORPUS` says. Tests that need it are skipped without it.
public enum Corpus {
    public struct Record: Decodable, Sendable {
        public var file: String
        public var format: String
        public var width: Int?
        public var height: Int?
        public var orientation: Int?
        public var displayWidth: Int?
        public var displayHeight: Int?
        public var bitDepth: Int?
        public var progressive: Bool?
        public var expect: String
    }

    /// Why tests are skipped, for `.enabled(if:)`.
    public static let missing = "no image corpus: set LARDER_CORPUS to its directory"

    public static let directory: URL = {
        if let named = ProcessInfo.processInfo.environment["LARDER_CORPUS"] { return URL(fileURLWithPath: named) }
        return URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("shared/corpus")
    }()

    public static let records: [Record] = {
        guard let data = try? Data(contentsOf: directory.appendingPathComponent("index.json")) else { return [] }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return (try? decoder.decode([Record].self, from: data)) ?? []
    }()

    public static var isPresent: Bool { !records.isEmpty }

    public static func records(in folder: String) -> [Record] { records.filter { $0.file.hasPrefix(folder + "/") } }

    public static func path(_ file: String) -> String { directory.appendingPathComponent(file).path }

    public static func bytes(_ file: String) throws -> [UInt8] {
        Array(try Data(contentsOf: directory.appendingPathComponent(file)))
    }
}
