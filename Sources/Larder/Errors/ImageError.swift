import Foundation

/// Why an image could not be had: who is at fault, and what can be done.
///
/// Every failure that leaves the engine is one of these. A case never carries secrets: user info and
/// credentials are removed from `Details.url` before it is stored. Values are `Sendable` and may be used
/// from any thread.
public enum ImageError: Error, Sendable, Hashable {
    /// The URL cannot be parsed, or has no host.
    case invalidURL(Details)
    /// A policy of ours forbids it: scheme, host, address, redirects, robots, a filter.
    case refused(Refusal, Details)
    /// No connection, or it broke: DNS, connect, TLS, reset, a malformed response.
    case unreachable(Details)
    /// A deadline passed: connect, idle or total.
    case timedOut(Deadline, Details)
    /// The server answered with a status that is not a success.
    case httpStatus(Int, Details)
    /// The body ended before the image did.
    case truncated(Details)
    /// The bytes are no image of any known format.
    case notAnImage(Details)
    /// A known format or a feature of it that this build cannot decode.
    case unsupportedFormat(Details)
    /// The image's data are damaged.
    case corrupt(Details)
    /// A limit on bytes, pixels, frames, scans or memory would be passed.
    case tooLarge(Details)
    /// The bytes are not those that were promised (`sha256`).
    case hashMismatch(Details)
    /// The disk tier cannot be used and the request needs it.
    case cacheUnavailable(Details)
    /// Not in the cache, and the request may not use the network (``CachePolicy/offlineOnly(maxStale:)``).
    case notCached(Details)
    /// The caller cancelled it.
    case cancelled(Details)

    /// What goes with every case.
    public struct Details: Sendable, Hashable {
        /// The image's URL without user info, or nil where none is known yet.
        public var url: String?
        /// For logs: what exactly went wrong, in English, without secrets. May be empty.
        public var detail: String
        /// Seconds that the server asked to wait (`Retry-After`), or nil.
        public var retryAfter: Double?
        /// Whether the fault is known to pass: overrides the case's own answer of ``ImageError/isRetryable``.
        public var isTransient: Bool?
        /// Requests that were sent before it was given up; nil where that was not counted.
        public var attempts: Int?
        /// Whether the server did answer, though with what is no response of HTTP.
        public var isMalformed = false
        /// The status of the response, where its head had come before something went wrong; nil otherwise.
        public var status: Int?

        /// Details with what is known; `detail` must name no secrets.
        public init(_ detail: String = "", url: String? = nil, retryAfter: Double? = nil, isTransient: Bool? = nil) {
            self.detail = detail
            self.url = url
            self.retryAfter = retryAfter
            self.isTransient = isTransient
        }
    }

    /// Which policy refused.
    public enum Refusal: String, Sendable, Hashable, CaseIterable {
        /// Neither http nor https.
        case scheme
        /// ``HostPolicy`` does not allow the host.
        case host
        /// ``AddressPolicy`` does not allow the address.
        case address
        /// Too many redirects, or one that may not be followed.
        case redirect
        /// `robots.txt` or `X-Robots-Tag`, where they are kept to.
        case robots
        /// The image does not satisfy the ``ImageFilter``.
        case filter
        /// Too much waits already.
        case busy
    }

    /// Which deadline passed.
    public enum Deadline: String, Sendable, Hashable, CaseIterable {
        /// No connection within the connect deadline.
        case connect
        /// Connected, but no byte for the idle deadline.
        case idle
        /// The whole work, retries included, took too long.
        case total
    }
}

extension ImageError {
    /// The stable name of the case, used in JSON: never changes, never localized.
    public var code: String {
        switch self {
        case .invalidURL: "invalid_url"
        case .refused(let refusal, _): refusal == .filter ? "filtered" : "refused"
        case .unreachable: "unreachable"
        case .timedOut: "timed_out"
        case .httpStatus: "http_status"
        case .truncated: "truncated"
        case .notAnImage: "not_an_image"
        case .unsupportedFormat: "unsupported_format"
        case .corrupt: "corrupt"
        case .tooLarge: "too_large"
        case .hashMismatch: "hash_mismatch"
        case .cacheUnavailable: "cache_unavailable"
        case .notCached: "not_cached"
        case .cancelled: "cancelled"
        }
    }

    /// What goes with the case: URL and technical detail.
    public var details: Details {
        switch self {
        case .invalidURL(let details), .refused(_, let details), .unreachable(let details),
            .timedOut(_, let details), .httpStatus(_, let details), .truncated(let details),
            .notAnImage(let details), .unsupportedFormat(let details), .corrupt(let details),
            .tooLarge(let details), .hashMismatch(let details), .cacheUnavailable(let details),
            .notCached(let details), .cancelled(let details):
            details
        }
    }

    /// The URL that failed, without user info, or nil where none is known.
    public var url: String? { details.url }

    /// Whether the same request may succeed later without anybody changing anything.
    ///
    /// True for connect failures, resets, timeouts, cut bodies and the statuses 408, 429, 500, 502, 503, 504.
    public var isRetryable: Bool {
        if let known = details.isTransient { return known }
        return switch self {
        case .unreachable, .timedOut, .truncated: true
        case .httpStatus(let status, _): [408, 429, 500, 502, 503, 504].contains(status)
        case .refused(let refusal, _): refusal == .busy
        default: false
        }
    }

    /// A response that breaks the protocol.
    package static func malformed(_ detail: String, isTransient: Bool? = nil) -> ImageError {
        var details = Details(detail, isTransient: isTransient)
        details.isMalformed = true
        return .unreachable(details)
    }

    /// The same error with changed details.
    package func mapDetails(_ change: (inout Details) -> Void) -> ImageError {
        var details = details
        change(&details)
        return switch self {
        case .invalidURL: .invalidURL(details)
        case .refused(let refusal, _): .refused(refusal, details)
        case .unreachable: .unreachable(details)
        case .timedOut(let deadline, _): .timedOut(deadline, details)
        case .httpStatus(let status, _): .httpStatus(status, details)
        case .truncated: .truncated(details)
        case .notAnImage: .notAnImage(details)
        case .unsupportedFormat: .unsupportedFormat(details)
        case .corrupt: .corrupt(details)
        case .tooLarge: .tooLarge(details)
        case .hashMismatch: .hashMismatch(details)
        case .cacheUnavailable: .cacheUnavailable(details)
        case .notCached: .notCached(details)
        case .cancelled: .cancelled(details)
        }
    }

    /// The same error that names the URL, without its user info. A URL already named stays.
    package func at(_ url: URL) -> ImageError {
        mapDetails { if $0.url == nil { $0.url = url.withoutUserInfo } }
    }
}

extension URL {
    /// The URL as text without user name and password: what may be logged and reported.
    package var withoutUserInfo: String {
        guard user != nil || password != nil,
            var components = URLComponents(url: self, resolvingAgainstBaseURL: false)
        else { return absoluteString }
        components.user = nil
        components.password = nil
        return components.string ?? ""
    }
}
