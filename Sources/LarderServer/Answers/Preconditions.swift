import Larder

/// Conditional and range requests (RFC 9110 §13.2.2, §14), over what is known of a representation.
package struct Preconditions: Sendable {
    /// With its quotes. Strong.
    package var etag: String
    package var lastModified: Timestamp
    package var length: Int

    package init(etag: String, lastModified: Timestamp, length: Int) {
        self.etag = etag
        // HTTP dates have whole seconds.
        self.lastModified = Timestamp(milliseconds: lastModified.milliseconds / 1000 * 1000)
        self.length = length
    }

    package enum Outcome: Sendable, Hashable {
        case whole
        case part(offset: Int, length: Int)
        case notModified
        case failed
        case unsatisfiable
    }

    /// What a GET or HEAD with these fields gets.
    package func evaluate(_ request: HTTPFields, method: Request.Method = .get, now: Timestamp) -> Outcome {
        func date(_ name: String) -> Timestamp? { request[name].flatMap { HTTPDate.parse($0, now: now) } }
        if let match = request["If-Match"] {
            guard matches(match, weak: false) else { return .failed }
        } else if let date = date("If-Unmodified-Since"), lastModified > date {
            return .failed
        }
        if let match = request["If-None-Match"] {
            if matches(match, weak: true) { return .notModified }
        } else if let date = date("If-Modified-Since"), lastModified <= date {
            return .notModified
        }
        guard method == .get, let range = request["Range"], rangeApplies(request["If-Range"], now) else {
            return .whole
        }
        return switch ByteRange.parse(range, length: length) {
        case .whole: .whole
        case .part(let offset, let length): .part(offset: offset, length: length)
        case .unsatisfiable: .unsatisfiable
        }
    }

    /// If-Range (§13.1.5): a strong tag that is ours, or the very date.
    private func rangeApplies(_ condition: String?, _ now: Timestamp) -> Bool {
        guard let condition else { return true }
        if condition.hasPrefix("\"") { return condition == etag }
        return HTTPDate.parse(condition, now: now) == lastModified
    }

    /// Whether a list of entity tags (§8.8.3) holds ours. `*` is any.
    private func matches(_ list: String, weak: Bool) -> Bool {
        var rest = Substring(list).drop { $0 == " " || $0 == "\t" }
        if rest.first == "*" { return true }
        while !rest.isEmpty {
            let isWeak = rest.hasPrefix("W/")
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.first == "\"", let end = rest.dropFirst().firstIndex(of: "\"") else { return false }
            if rest[...end] == etag, weak || !isWeak { return true }
            rest = rest[rest.index(after: end)...].drop { $0 == " " || $0 == "\t" || $0 == "," }
        }
        return false
    }
}
