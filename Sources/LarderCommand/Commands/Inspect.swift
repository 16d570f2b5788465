import Foundation
import Larder
import LarderPrefetch
import LarderWorkers

extension Command {
    static let inspect = Command(
        name: "inspect", summary: "what an image is, and whether it is whole", operands: "FILE|URL|-...",
        examples: [
            ("larder inspect photo.jpg", "size, format and orientation of a file"),
            ("larder inspect --deep --json *.jpg", "decode every pixel, a JSON line for each file"),
            ("curl -s https://example.com/a.png | larder inspect -", "standard input"),
        ],
        options: [.flag("deep", "also decode every pixel", common: true)] + ConnectionOptions.table,
        details: [
            "An image on the web is fetched into memory and not kept. A file that is no image, or is broken, gives "
                + "`valid: false` and exit status 1."
        ],
        run: { arguments, console in try await InspectCommand(arguments, console).run() })
}

/// `larder inspect`.
struct InspectCommand: Sendable {
    private let console: Console
    private let names: [String]
    private let isDeep: Bool
    private let isJSON: Bool
    private let isQuiet: Bool
    private let connection: ConnectionOptions

    init(_ arguments: Arguments, _ console: Console) throws(UsageError) {
        self.console = console
        names = arguments.operands
        isDeep = try arguments.flag("deep")
        isJSON = try arguments.flag("json")
        isQuiet = try arguments.flag("quiet")
        connection = try ConnectionOptions(arguments)
        guard !names.isEmpty else {
            throw UsageError("inspect wants a file", hint: "larder inspect photo.jpg, a URL, or - for standard input")
        }
        guard names.count(where: { $0 == "-" }) <= 1 else {
            throw UsageError("standard input (-) can be read only once")
        }
    }

    func run() async throws -> ExitStatus {
        let executor = BlockingExecutor(name: "larder-inspect", width: 1)
        var invalid = 0
        for name in names {
            let facts: Inspection
            if name.hasPrefix("http://") || name.hasPrefix("https://") {
                facts = await inspectRemote(name, executor)
            } else {
                facts = await executor.perform { [isDeep, connection] in
                    Inspection(
                        ImageInspector.inspect(path: name, deep: isDeep, limits: connection.limits),
                        maxBytes: connection.maxBytes)
                }
            }
            if !facts.isValid { invalid += 1 }
            if isJSON {
                try console.out(InspectionText.json(name, facts))
            } else if !isQuiet {
                let text = InspectionText.line(name, facts, in: console.language)
                try console.print(text.harmless, facts.isValid ? nil : .red)
            }
        }
        return invalid == 0 ? .success : .someFailed
    }

    private func inspectRemote(_ name: String, _ executor: BlockingExecutor) async -> Inspection {
        do throws(ImageError) {
            let bytes = try await connection.fetch(name)
            return await executor.perform { [isDeep, connection] in
                Inspection(
                    bytes.withUnsafeBytes { ImageInspector.inspect($0, deep: isDeep, limits: connection.limits) })
            }
        } catch {
            return Inspection(error)
        }
    }
}

extension ConnectionOptions {
    /// The bytes of what is at the address, whatever they are.
    fileprivate func fetch(_ text: String) async throws(ImageError) -> [UInt8] {
        let url = try NormalizedURL(text).url()
        let response = try await client.open(
            TransportRequest(url: url, fields: fields, deadlines: deadlines, addresses: addresses))
        guard response.status == 200 else {
            response.body.cancel()
            throw ImageError.httpStatus(response.status, .init(url: url.withoutUserInfo))
        }
        var bytes: [UInt8] = []
        while let more = try await response.body.next() {
            bytes += more
            guard bytes.count <= maxBytes else {
                response.body.cancel()
                throw .tooLarge(.init("more than \(maxBytes) bytes", url: url.withoutUserInfo))
            }
        }
        return bytes
    }
}

/// What was found out of a file or a URL.
struct Inspection: Sendable {
    /// nil where the bytes could not be had.
    var facts: ImageFacts?
    var error: ImageError?
    var isValid: Bool { error == nil }

    init(_ facts: ImageFacts, maxBytes: Int = .max) {
        self.facts = facts
        error = facts.error
        if error == nil, facts.bytes > maxBytes {
            error = .tooLarge(.init("it has \(facts.bytes) bytes, more than the limit of \(maxBytes)"))
        }
    }

    init(_ error: ImageError) { self.error = error }
}

extension Inspection {
    /// Whether it is a file, not a server, that could not be read: the detail says it all.
    fileprivate func isUnread(_ name: String) -> Bool {
        guard facts?.format == nil, case .unreachable? = error else { return false }
        return !name.contains("://")
    }
}

/// How facts of an image are written.
enum InspectionText {
    /// One JSON object on a line; what is not known is null.
    static func json(_ name: String, _ found: Inspection) -> [UInt8] {
        let facts = found.facts
        let header = facts?.header
        var object = JSONWriter()
        object.raw("{")
        object.member("file", name)
        object.optional("format", facts?.format?.rawValue)
        object.optional("width", header?.width)
        object.optional("height", header?.height)
        object.optional("orientation", facts?.orientation)
        object.optional("bit_depth", header?.bitDepth)
        object.optional("color", header?.color?.rawValue)
        object.key("progressive")
        object.raw(header.map { $0.isProgressive ? "true" : "false" } ?? "null")
        object.optional("frames", header?.frames)
        object.optional("icc_bytes", header?.iccBytes)
        object.member("bytes", facts?.bytes ?? 0)
        object.member("valid", found.isValid)
        if let error = found.error {
            object.key("error")
            object.raw("{")
            object.member("code", error.code)
            object.member("message", found.isUnread(name) ? error.details.detail : error.message(in: .english))
            if !error.details.detail.isEmpty { object.member("detail", error.details.detail) }
            object.raw("}")
        }
        object.raw("}\n")
        return object.bytes
    }

    /// `photo.jpg: JPEG, 4000 x 3000, turned (6), YCbCr, 8 bits, progressive, 812 KB`
    static func line(_ name: String, _ found: Inspection, in language: MessageLanguage) -> String {
        var parts: [String] = []
        let facts = found.facts
        if let format = facts?.format { parts.append(format.rawValue) }
        if let header = facts?.header {
            parts.append("\(header.width) x \(header.height)")
            if let orientation = facts?.orientation, orientation > 1 { parts.append("orientation \(orientation)") }
            if let color = header.color { parts.append(color.rawValue) }
            if let depth = header.bitDepth { parts.append("\(depth) bits") }
            if header.isProgressive { parts.append("progressive") }
            if header.frames > 1 { parts.append("\(header.frames) frames") }
            if header.iccBytes > 0 { parts.append("ICC profile") }
        }
        if let bytes = facts?.bytes, bytes > 0 { parts.append(Amount.bytes(bytes)) }
        if let error = found.error, found.isUnread(name) {
            return error.details.detail
        } else if let error = found.error {
            parts.append(
                "\(error.code): \(error.message(in: language))"
                    + (error.details.detail.isEmpty ? "" : " (\(error.details.detail))"))
        }
        return "\(name): " + parts.joined(separator: ", ")
    }
}

extension JSONWriter {
    fileprivate mutating func optional(_ name: StaticString, _ value: Int?) {
        key(name)
        if let value { integer(value) } else { raw("null") }
    }

    fileprivate mutating func optional(_ name: StaticString, _ value: String?) {
        key(name)
        if let value { string(value) } else { raw("null") }
    }
}
