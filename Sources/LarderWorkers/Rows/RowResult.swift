import Larder

/// How one row ended. The report's line is made of it and its row, in ``ReportLine``.
///
/// What the coordinator counts is in fields; the rest of the line is bytes already, so that a line which was made
/// in another process is passed on without being taken apart.
package struct RowResult: Sendable, Hashable {
    package enum Source: UInt8, Sendable, Hashable, CaseIterable {
        case network, disk, revalidated
        package var name: StaticString {
            switch self {
            case .network: "network"
            case .disk: "disk"
            case .revalidated: "revalidated"
            }
        }

        package init?(name: String) {
            switch name {
            case "network": self = .network
            case "disk": self = .disk
            case "revalidated": self = .revalidated
            default: return nil
            }
        }
    }

    package enum Outcome: Sendable, Hashable {
        case success(Source)
        /// With the stable code of the error.
        case failure(code: String)
    }

    package var outcome: Outcome
    /// Bytes of the image; 0 for a failure.
    package var bytes: Int
    /// The members of the line behind `phase` and `source`, without braces: `"status":200,…,"ms":84`.
    package var tail: [UInt8]

    package init(outcome: Outcome, bytes: Int = 0, tail: [UInt8]) {
        self.outcome = outcome
        self.bytes = bytes
        self.tail = tail
    }

    /// The first 16 digits of the name of the image's file; nil where none is named.
    package var fileNumber: UInt64? {
        let mark = Self.fileMark
        return tail.withUnsafeBufferPointer { bytes in
            guard
                let start = bytes.indices.first(where: { at in
                    bytes[at] == mark[0] && bytes[at...].starts(with: mark)
                })
            else { return nil }
            var number: UInt64 = 0
            // Two digits, a slash, and the others.
            for byte in bytes[start...].dropFirst(mark.count).prefix(17) where byte != UInt8(ascii: "/") {
                guard let digit = JSONCursor.digit(byte) else { return nil }
                number = number << 4 | UInt64(digit)
            }
            return number
        }
    }

    private static let fileMark = Array("\"file\":\"".utf8)

    /// Whether the line names the status of a response: a failure of a host that does answer.
    package var hasStatus: Bool {
        let mark = Self.statusMark
        return tail.withUnsafeBufferPointer { bytes in
            bytes.indices.contains { bytes[$0] == mark[0] && bytes[$0...].starts(with: mark) }
        }
    }

    private static let statusMark = Array("\"status\":".utf8)

    package var isSuccess: Bool { if case .success = outcome { true } else { false } }

    /// The error's code, or nil for a success.
    package var code: String? { if case .failure(let code) = outcome { code } else { nil } }
}

/// What is known of an image that is in the cache: what a line of success is made of.
package struct RowFacts: Sendable {
    package var status: Int
    package var format: ImageFormat
    package var width: Int
    package var height: Int
    package var orientation: Int
    package var bytes: Int
    /// 32 bytes.
    package var sha256: [UInt8]
    /// Relative to the cache directory; nil where the image may not be kept.
    package var file: String?
    package var isStale = false
    package var thumbnails: [Thumbnail] = []
    /// Known where there are thumbnails.
    package var placeholder: ImagePlaceholder?
    /// Requests that were sent for it.
    package var attempts = 0
    package var milliseconds = 0

    package struct Thumbnail: Sendable {
        package var size: String
        package var width = 0
        package var height = 0
        package var bytes = 0
        package var file: String?
        package var error: RowError?

        package init(size: String, width: Int = 0, height: Int = 0, bytes: Int = 0, file: String? = nil) {
            self.size = size
            self.width = width
            self.height = height
            self.bytes = bytes
            self.file = file
        }
    }

    package init(
        status: Int, format: ImageFormat, width: Int, height: Int, orientation: Int, bytes: Int, sha256: [UInt8],
        file: String?
    ) {
        self.status = status
        self.format = format
        self.width = width
        self.height = height
        self.orientation = orientation
        self.bytes = bytes
        self.sha256 = sha256
        self.file = file
    }
}

/// Why a row failed: an ``ImageError``, or one of the codes that only rows have.
package struct RowError: Sendable, Hashable {
    /// Stable: those of ``ImageError``, `bad_row`, `worker_crashed`.
    package var code: String
    /// Always English.
    package var message: String
    /// The technical part; may be empty.
    package var detail: String
    package var isRetryable: Bool
    /// Whether the server did answer, though with what is no response of HTTP.
    package var isMalformed = false
    /// The status of the response, where there was one.
    package var status: Int?

    package init(code: String, message: String, detail: String = "", isRetryable: Bool = false, status: Int? = nil) {
        self.code = code
        self.message = message
        self.detail = detail
        self.isRetryable = isRetryable
        self.status = status
    }

    package init(_ error: ImageError) {
        self.init(
            code: error.code, message: error.message(in: .english), detail: error.details.detail,
            isRetryable: error.isRetryable)
        isMalformed = error.details.isMalformed
        status = error.details.status
        if case .httpStatus(let status, _) = error { self.status = status }
    }

    /// What was fetched and may be stored, and could not be.
    package static var notKept: RowError {
        var error = RowError(
            .cacheUnavailable(.init("it was fetched, but the cache has no room for it or cannot be written")))
        error.isRetryable = true
        return error
    }

    package static func badRow(_ problem: String) -> RowError {
        RowError(code: "bad_row", message: "The manifest's record is not usable: \(problem).")
    }
}

extension RowResult {
    package static func success(_ source: Source, _ facts: RowFacts) -> RowResult {
        var tail = JSONWriter()
        tail.bytes.reserveCapacity(320)
        if facts.status > 0 { tail.member("status", facts.status) }
        tail.write(facts)
        return RowResult(outcome: .success(source), bytes: facts.bytes, tail: tail.bytes)
    }

    /// - Parameter facts: what is known of the image, where it is in the cache and only a thumbnail failed.
    package static func failure(
        _ error: RowError, attempts: Int = 0, milliseconds: Int = 0, facts: RowFacts? = nil
    ) -> RowResult {
        var tail = JSONWriter()
        tail.key("error")
        tail.write(error)
        if let status = error.status ?? facts.flatMap({ $0.status > 0 ? $0.status : nil }) {
            tail.member("status", status)
        }
        if let facts {
            tail.write(facts)
        } else {
            tail.member("attempts", attempts)
            tail.member("ms", milliseconds)
        }
        return RowResult(outcome: .failure(code: error.code), tail: tail.bytes)
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ facts: RowFacts) {
        member("format", facts.format.rawValue)
        member("width", facts.width)
        member("height", facts.height)
        member("orientation", facts.orientation)
        member("bytes", facts.bytes)
        key("sha256")
        hex(facts.sha256)
        if let file = facts.file { member("file", file) }
        if facts.isStale { member("stale", true) }
        if !facts.thumbnails.isEmpty {
            key("thumbnails")
            raw("[")
            for (index, thumbnail) in facts.thumbnails.enumerated() {
                if index > 0 { raw(",") }
                write(thumbnail)
            }
            raw("]")
        }
        if let placeholder = facts.placeholder {
            member("thumbhash", placeholder.thumbHash.base64)
            member("color", placeholder.color.hex)
        }
        member("attempts", facts.attempts)
        member("ms", facts.milliseconds)
    }

    private mutating func write(_ thumbnail: RowFacts.Thumbnail) {
        raw("{")
        member("size", thumbnail.size)
        if let error = thumbnail.error {
            key("error")
            write(error)
        } else {
            member("width", thumbnail.width)
            member("height", thumbnail.height)
            member("bytes", thumbnail.bytes)
            if let file = thumbnail.file { member("file", file) }
        }
        raw("}")
    }

    fileprivate mutating func write(_ error: RowError) {
        raw("{")
        member("code", error.code)
        member("message", error.message)
        if !error.detail.isEmpty { member("detail", error.detail) }
        member("retryable", error.isRetryable)
        if error.isMalformed { member("malformed", true) }
        raw("}")
    }
}
